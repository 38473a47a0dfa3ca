"""Leases."""

from __future__ import annotations

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy


def _validate(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    seconds, count = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        errors.append(field_errors.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if count is not None and count < 0:
        errors.append(field_errors.invalid("spec.leaseTransitions", count, "must be greater than or equal to 0"))


def _drop_alpha_fields(obj: Object, _context: object) -> None:
    for field in ("strategy", "preferredHolder"):
        obj["spec"].pop(field, None)


LEASE = Strategy(
    kind="Lease",
    create_preparation=_drop_alpha_fields,
    update_preparation=_drop_alpha_fields,
    validation=_validate,
    update_validation_steps=("meta", "spec"),
    standard_finalizers=False,
    allow_create_on_update=True,
    allow_unconditional_update=False,
)
