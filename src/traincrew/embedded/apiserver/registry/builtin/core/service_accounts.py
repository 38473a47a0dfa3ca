"""Service accounts."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Strategy

_ENFORCED = "kubernetes.io/enforce-mountable-secrets"


def _clean_secrets(obj: Object, _other: object) -> None:
    if obj.get("secrets"):
        obj["secrets"] = [{"name": each["name"]} if each.get("name") else {} for each in obj["secrets"]]


def _warnings(obj: Object) -> list[str]:
    if _ENFORCED not in (obj["metadata"].get("annotations") or {}):
        return []
    detail = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{_ENFORCED}]: {detail}"]


SERVICE_ACCOUNT = Strategy(
    kind="ServiceAccount",
    create_preparation=_clean_secrets,
    update_preparation=_clean_secrets,
    update_validation_steps=("meta", "whole"),
    warning_rules=_warnings,
)
