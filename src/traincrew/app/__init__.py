"""The composition roots, one for each process: the operator, the cluster of one machine, a node of another cluster."""
