"""What the HTTPS servers of the API server and of the kubelet share."""
