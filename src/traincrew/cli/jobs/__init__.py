"""From files to objects in the cluster."""
