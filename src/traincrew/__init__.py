"""Distributed training jobs of the kubeflow.org API, on any Kubernetes cluster or on one machine."""

__version__ = "0.1.0"
