"""The composition roots, one a process: the operator, the cluster of one machine, the node of another cluster."""
