"""Resource usage of pods and of the node."""
