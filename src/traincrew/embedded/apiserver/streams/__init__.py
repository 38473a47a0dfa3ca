"""Logs, exec, attach and port-forward, relayed to the kubelet of the pod's node."""
