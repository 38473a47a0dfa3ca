"""What the HTTP servers of API server, kubelet, operator and console share."""
