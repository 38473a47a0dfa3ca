"""The operator on a real kube-apiserver, next to a bare client of the same code that only posts the same objects."""
