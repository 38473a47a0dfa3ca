"""Daemon sets."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, label_selectors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.apps.workloads import (
    REVISION_HISTORY_LIMIT,
    TEMPLATE,
    check_policies,
    check_same_selector,
    check_selected,
    default_rolling_update,
    not_negative,
    template_warnings,
)
from traincrew.embedded.apiserver.registry.builtin.core.pods import defaults, specs
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext


def _default(obj: Object) -> None:
    defaults.template(obj["spec"]["template"])
    default_rolling_update(obj["spec"], "updateStrategy", 1, 0)
    obj["spec"].setdefault("revisionHistoryLimit", REVISION_HISTORY_LIMIT)


def _prepare_create(obj: Object, _context: WriteContext) -> None:
    obj["status"] = dict.fromkeys(("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"), 0)
    annotations = obj["metadata"].setdefault("annotations", {})
    annotations[_GENERATION] = "1"


_GENERATION = "deprecated.daemonset.template.generation"


def _prepare_update(new: Object, old: Object) -> None:
    """The template's generation is kept in an annotation since apps/v1."""
    former = (old["metadata"].get("annotations") or {}).get(_GENERATION, "0")
    changed = new["spec"]["template"] != old["spec"]["template"]
    new["metadata"].setdefault("annotations", {})[_GENERATION] = str(int(former) + changed)


def _validate(obj: Object, errors: Errors) -> None:
    selector, template = obj["spec"].get("selector"), obj["spec"]["template"]
    label_selectors.validate(selector, "spec.selector", errors)
    check_selected(selector, template, errors)
    if selector is not None and label_selectors.is_empty(selector):
        errors.append(field_errors.invalid("spec.selector", selector, "empty selector is invalid for daemonset"))
    specs.check_template(template, TEMPLATE, errors)
    check_policies(template["spec"], "DaemonSet", errors)
    not_negative(obj["spec"], ("minReadySeconds", "revisionHistoryLimit"), "spec", errors)


DAEMON_SET = Strategy(
    kind="DaemonSet",
    has_status=True,
    has_generation=True,
    defaults=_default,
    create_preparation=_prepare_create,
    update_preparation=_prepare_update,
    validation=_validate,
    update_validation=check_same_selector,
    update_validation_steps=("whole", "meta", "spec", "compare"),
    warning_rules=template_warnings,
)
