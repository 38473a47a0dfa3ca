"""The class of service: as the API server found it, else from the pod's resources."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import pod_resources
from traincrew.embedded.kubelet.lifecycle.pod import Object


def class_of(pod: Object) -> str:
    known = (pod.get("status") or {}).get("qosClass")
    return str(known) if known else _computed(dict(pod.get("spec") or {}))


def _computed(spec: dict[str, Any]) -> str:
    return pod_resources.of_service(spec)
