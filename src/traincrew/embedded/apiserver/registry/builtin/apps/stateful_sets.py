"""Stateful sets."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.apps.workloads import (
    REVISION_HISTORY_LIMIT,
    check_counts,
    check_policies,
    check_selected,
    check_selector,
    create_preparation,
    not_negative,
    template_warnings,
)
from traincrew.embedded.apiserver.registry.builtin.core import persistent_volume_claims
from traincrew.embedded.apiserver.registry.builtin.core.pods import defaults
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy


def _default(obj: Object) -> None:
    spec = obj["spec"]
    defaults.template(spec["template"])
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
        strategy["rollingUpdate"].pop("maxUnavailable", None)
    policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    policy.setdefault("whenDeleted", "Retain")
    policy.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", REVISION_HISTORY_LIMIT)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.update({"apiVersion": "v1", "kind": "PersistentVolumeClaim"})
        persistent_volume_claims.default(claim)


def _validate(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    if (policy := spec.get("podManagementPolicy")) not in ("OrderedReady", "Parallel"):
        errors.append(field_errors.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
    strategy = spec["updateStrategy"]
    if strategy.get("type") not in ("RollingUpdate", "OnDelete"):
        errors.append(field_errors.invalid("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'"))
    for field in ("whenDeleted", "whenScaled"):
        kept = spec["persistentVolumeClaimRetentionPolicy"].get(field)
        if kept not in ("Retain", "Delete"):
            at = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            errors.append(field_errors.not_supported(at, kept, ("Retain", "Delete")))
    not_negative(spec, ("replicas", "minReadySeconds"), "spec", errors)
    check_selector(spec.get("selector"), "statefulset", errors)
    check_selected(spec.get("selector"), spec["template"], errors)
    check_policies(spec["template"]["spec"], "StatefulSet", errors)


_CHANGEABLE = (
    "replicas", "ordinals", "template", "updateStrategy", "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    after, before = new["spec"], old["spec"]
    if any(after.get(field) != before.get(field) for field in after.keys() | before.keys() if field not in _CHANGEABLE):
        listed = ", ".join(f"'{field}'" for field in _CHANGEABLE[:-1])
        detail = f"updates to statefulset spec for fields other than {listed} and 'minReadySeconds' are forbidden"
        errors.append(field_errors.forbidden("spec", detail))


STATEFUL_SET = Strategy(
    kind="StatefulSet",
    naming=name_validation.dns_label,
    has_status=True,
    has_generation=True,
    defaults=_default,
    create_preparation=create_preparation({"replicas": 0, "availableReplicas": 0}),
    validation=_validate,
    update_validation=_validate_update,
    status_validation=check_counts("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    update_validation_steps=("meta", "spec", "compare"),
    warning_rules=template_warnings,
)
