"""Replication controllers."""

from __future__ import annotations

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.apps.workloads import (
    TEMPLATE,
    check_counts,
    check_policies,
    check_selected,
    not_negative,
    template_warnings,
)
from traincrew.embedded.apiserver.registry.builtin.core.pods import defaults, disabled_fields, specs
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext


def _default(obj: Object) -> None:
    template = obj["spec"].get("template")
    if template is not None:
        defaults.template(template)
        if labels := (template.get("metadata") or {}).get("labels"):
            obj["spec"]["selector"] = obj["spec"].get("selector") or labels
            obj["metadata"]["labels"] = obj["metadata"].get("labels") or labels
    obj["spec"].setdefault("replicas", 1)


def _prepare_create(obj: Object, _context: WriteContext) -> None:
    if "template" in obj["spec"]:
        disabled_fields.drop(obj["spec"]["template"]["spec"])
    obj["status"] = {"replicas": 0}


def _validate(obj: Object, errors: Errors) -> None:
    spec, selector = obj["spec"], obj["spec"].get("selector")
    not_negative(spec, ("minReadySeconds",), "spec", errors)
    if not selector:
        errors.append(field_errors.required("spec.selector"))
    not_negative(spec, ("replicas",), "spec", errors)
    if "template" not in spec:
        errors.append(field_errors.required(TEMPLATE))
        return
    if selector:
        check_selected({"matchLabels": selector}, spec["template"], errors)
    specs.check_template(spec["template"], TEMPLATE, errors)
    check_policies(spec["template"]["spec"], "ReplicationController", errors)


def _validate_status(new: Object, old: Object, errors: Errors) -> None:
    check_counts("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")(new, old, errors)
    available, ready = (new["status"].get(field) or 0 for field in ("availableReplicas", "readyReplicas"))
    if available > ready:
        errors.append(field_errors.invalid("status.availableReplicas", available, "cannot be greater than readyReplicas"))


def _warnings(obj: Object) -> list[str]:
    return template_warnings(obj) if "template" in obj["spec"] else []


REPLICATION_CONTROLLER = Strategy(
    kind="ReplicationController",
    has_status=True,
    has_generation=True,
    defaults=_default,
    create_preparation=_prepare_create,
    validation=_validate,
    status_validation=_validate_status,
    update_validation_steps=("whole", "meta", "spec", "compare"),
    warning_rules=_warnings,
    orphans_by_default=True,
)
