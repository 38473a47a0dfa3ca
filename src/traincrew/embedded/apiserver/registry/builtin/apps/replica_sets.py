"""Replica sets."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.apps.workloads import (
    check_counts,
    check_same_selector,
    check_selector,
    check_template,
    create_preparation,
    not_negative,
    template_warnings,
)
from traincrew.embedded.apiserver.registry.builtin.core.pods import defaults
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy


def _default(obj: Object) -> None:
    defaults.template(obj["spec"]["template"])
    obj["spec"].setdefault("replicas", 1)


def _validate(obj: Object, errors: Errors) -> None:
    not_negative(obj["spec"], ("replicas", "minReadySeconds"), "spec", errors)
    check_selector(obj["spec"].get("selector"), "deployment", errors)
    check_template(obj, "ReplicaSet", errors)


REPLICA_SET = Strategy(
    kind="ReplicaSet",
    has_status=True,
    has_generation=True,
    defaults=_default,
    create_preparation=create_preparation({"replicas": 0}),
    validation=_validate,
    update_validation=check_same_selector,
    status_validation=check_counts("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    update_validation_steps=("whole", "meta", "spec", "compare"),
    warning_rules=template_warnings,
)
