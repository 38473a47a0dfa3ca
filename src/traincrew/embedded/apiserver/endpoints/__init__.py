"""The Kubernetes API: from a request to what is stored, listed, watched or refused."""
