"""Talking to a Kubernetes API server, and keeping a copy of what it holds."""
