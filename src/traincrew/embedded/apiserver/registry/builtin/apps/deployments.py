"""Deployments."""

from __future__ import annotations

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.apps.workloads import (
    REVISION_HISTORY_LIMIT,
    amount,
    check_at_most_all,
    check_counts,
    check_number_or_percent,
    check_same_selector,
    check_selector,
    check_template,
    create_preparation,
    default_rolling_update,
    not_negative,
    template_warnings,
)
from traincrew.embedded.apiserver.registry.builtin.core.pods import defaults
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy


def _default(obj: Object) -> None:
    spec = obj["spec"]
    defaults.template(spec["template"])
    spec.setdefault("replicas", 1)
    default_rolling_update(spec, "strategy", "25%", "25%")
    spec.setdefault("revisionHistoryLimit", REVISION_HISTORY_LIMIT)
    spec.setdefault("progressDeadlineSeconds", 600)


def _validate(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    not_negative(spec, ("replicas",), "spec", errors)
    check_selector(spec.get("selector"), "deployment", errors)
    check_template(obj, "ReplicaSet", errors)
    _check_strategy(spec["strategy"], errors)
    not_negative(spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"), "spec", errors)
    deadline = spec["progressDeadlineSeconds"]
    if deadline <= (spec.get("minReadySeconds") or 0):
        errors.append(field_errors.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))


def _check_strategy(strategy: Object, errors: Errors) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            errors.append(field_errors.forbidden("spec.strategy.rollingUpdate", detail))
    elif kind == "RollingUpdate":
        _check_rolling(rolling or {}, errors)
    else:
        errors.append(field_errors.not_supported("spec.strategy", strategy, ("Recreate", "RollingUpdate")))


def _check_rolling(rolling: Object, errors: Errors) -> None:
    at, unavailable, surge = "spec.strategy.rollingUpdate", rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    check_number_or_percent(unavailable, f"{at}.maxUnavailable", errors)
    check_number_or_percent(surge, f"{at}.maxSurge", errors)
    if amount(unavailable) == 0 and amount(surge) == 0:
        shown = f"intstr.IntOrString{{Type:{int(isinstance(unavailable, str))}, IntVal:0, StrVal:" + (
            f'"{unavailable}"}}' if isinstance(unavailable, str) else '""}'
        )
        errors.append(field_errors.invalid_formatted(f"{at}.maxUnavailable", shown, "may not be 0 when `maxSurge` is 0"))
    check_at_most_all(unavailable, f"{at}.maxUnavailable", errors)


DEPLOYMENT = Strategy(
    kind="Deployment",
    has_status=True,
    has_generation=True,
    status_keeps=("labels",),
    defaults=_default,
    create_preparation=create_preparation({}),
    validation=_validate,
    update_validation=check_same_selector,
    status_validation=check_counts("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
    update_validation_steps=("meta", "spec", "compare"),
    warning_rules=template_warnings,
)
