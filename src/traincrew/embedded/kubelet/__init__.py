"""The node of the one-machine cluster: what runs on it, and what a kubelet would answer about it."""
