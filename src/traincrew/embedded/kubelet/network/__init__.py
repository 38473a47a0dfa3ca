"""The network of the pods: addresses, DNS, egress, and the netns daemon, which keeps the network namespace."""
