"""The controllers of kube-controller-manager that the embedded cluster needs; each is a client of the API server."""
