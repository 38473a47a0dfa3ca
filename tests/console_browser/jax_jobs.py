"""JAXJobs for the tests of the page."""

from __future__ import annotations

from typing import Any


def jax_job(name: str, command: list[str], workers: int = 1, **requests: str) -> dict[str, Any]:
    container = {"name": "jax", "image": "python", "command": command, "resources": {"requests": requests or {"cpu": "100m"}}}
    worker = {"replicas": workers, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"jaxReplicaSpecs": {"Worker": worker}},
    }
