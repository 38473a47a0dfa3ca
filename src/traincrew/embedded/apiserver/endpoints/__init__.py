"""The handlers of the Kubernetes API."""
