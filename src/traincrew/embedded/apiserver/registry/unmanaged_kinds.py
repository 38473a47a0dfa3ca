"""Built-in kinds that are stored, and that no controller of the embedded cluster acts on. docs/served-kinds.md lists them."""

from __future__ import annotations

from collections.abc import Mapping

_NO_PODS = "no pods are created"
EFFECTS: Mapping[tuple[str, str], str] = {
    ("", "ReplicationController"): _NO_PODS,
    ("apps", "DaemonSet"): _NO_PODS,
    ("apps", "Deployment"): _NO_PODS,
    ("apps", "ReplicaSet"): _NO_PODS,
    ("apps", "StatefulSet"): _NO_PODS,
    ("batch", "CronJob"): "no jobs are created",
    ("networking.k8s.io", "Ingress"): "no requests are routed",
    ("networking.k8s.io", "NetworkPolicy"): "no traffic is blocked",
}
"""Group and kind → what a user misses."""
ADVICE = "Use a Pod, a Job of batch/v1 or a job of kubeflow.org instead."
_ADVICE_BY_KIND = {"Ingress": "Use `kubectl port-forward` or `kubectl proxy` instead."}


def warning(group: str, kind: str) -> str:
    """The text of the Warning header for a new object; empty if a component acts on the kind."""
    effect = EFFECTS.get((group, kind))
    return f"no controller of this cluster acts on objects of kind {kind}: {effect}" if effect else ""


def advice(group: str, kind: str) -> str:
    """What to use instead; empty if there is nothing."""
    if group == "networking.k8s.io":
        return _ADVICE_BY_KIND.get(kind, "")
    return ADVICE if (group, kind) in EFFECTS else ""
