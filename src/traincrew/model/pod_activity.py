"""Annotations of PodMetrics with which a node reports the activity of a pod, beside its usage."""

from __future__ import annotations

LAST_OUTPUT = "traincrew.kubeflow.org/last-output"
"""RFC 3339. Empty: the containers have printed nothing since they started."""
CONNECTIONS = "traincrew.kubeflow.org/connections"
"""Number of established TCP connections to other pods."""
