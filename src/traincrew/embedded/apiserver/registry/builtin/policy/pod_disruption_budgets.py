"""Pod disruption budgets."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, label_selectors, name_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.apps.workloads import check_at_most_all, check_number_or_percent, not_negative
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext


def _prepare_create(obj: Object, _context: WriteContext) -> None:
    obj["status"] = dict.fromkeys(("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0)


def _validate(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    if "minAvailable" in spec and "maxUnavailable" in spec:
        errors.append(field_errors.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            check_number_or_percent(spec[field], f"spec.{field}", errors)
            check_at_most_all(spec[field], f"spec.{field}", errors)
    label_selectors.validate(spec.get("selector"), "spec.selector", errors)
    policy, known = spec.get("unhealthyPodEvictionPolicy"), ("AlwaysAllow", "IfHealthyBudget")
    if policy not in (None, *known):
        errors.append(field_errors.not_supported("spec.unhealthyPodEvictionPolicy", policy, known))


def _validate_status(new: Object, _old: Object, errors: Errors) -> None:
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    not_negative(new["status"], counts, "status", errors)


DISRUPTION_BUDGET = Strategy(
    kind="PodDisruptionBudget",
    allow_unconditional_update=False,
    naming=name_validation.path_segment,
    standard_finalizers=False,
    has_status=True,
    has_generation=True,
    create_preparation=_prepare_create,
    validation=_validate,
    status_validation=_validate_status,
    metadata_first=False,
    update_validation_steps=("spec",),
    status_validation_steps=("compare",),
)
