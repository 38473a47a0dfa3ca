"""The pods of this node: the kubelet runs them as processes of this machine."""
