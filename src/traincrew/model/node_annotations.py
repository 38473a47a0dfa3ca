"""Annotations of a Node that its kubelet writes."""

from __future__ import annotations

SERVING_AUTHORITY = "traincrew.kubeflow.org/serving-certificate-authority"
"""PEM: the authority of the kubelet's own certificate. A kubelet that joins a cluster signs its certificate itself, and who may
write its Node may also write the address at which the API server looks for it."""
