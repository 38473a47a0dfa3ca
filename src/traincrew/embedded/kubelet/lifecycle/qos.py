"""The QoS class of a pod: from its status, else from its resources."""

from __future__ import annotations

from traincrew.apimachinery import pod_resources
from traincrew.embedded.kubelet.lifecycle.pod import Object


def qos_class(pod: Object) -> str:
    reported = (pod.get("status") or {}).get("qosClass")
    return str(reported) if reported else pod_resources.qos_class(dict(pod.get("spec") or {}))
