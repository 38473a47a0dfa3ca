"""Validation of resource lists: names and quantities."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation, quantities
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.object_meta_validation import MUST_NOT_BE_NEGATIVE
from traincrew.apimachinery.string_cache import cached
from traincrew.apimachinery.unstructured import Object

HUGE_PAGES = "hugepages-"
_CONTAINER = frozenset(("cpu", "memory", "ephemeral-storage"))
_COUNTS = frozenset(
    (
        "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims",
        "services.nodeports", "services.loadbalancers",
    )
)  # fmt: skip
_QUOTA = (
    _COUNTS | _CONTAINER | {f"{side}.{name}" for side in ("requests", "limits") for name in _CONTAINER} | {"requests.storage"}
)
_STANDARD = _QUOTA | {"storage"}


def is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


@cached(1024)
def is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith("requests.") and not name_validation.qualified_name(f"requests.{name}")


def is_overcommit_allowed(name: str) -> bool:
    """Whether a limit may exceed the request."""
    return is_native(name) and not is_huge_pages(name)


def is_standard_quota(name: str) -> bool:
    return name in _QUOTA or name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))


def is_integer_resource(name: str) -> bool:
    return name in _COUNTS or is_extended(name)


def validate_name(name: str, path: str, errors: list[FieldError]) -> bool:
    if messages := name_validation.qualified_name(name):
        errors += [field_errors.invalid_formatted(path, name, error) for error in messages]
        return False
    if "/" not in name and name not in _STANDARD and not name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}")):
        errors.append(field_errors.invalid_formatted(path, name, "must be a standard resource type or fully qualified"))
        return False
    return True


def validate_container_name(name: str, path: str, errors: list[FieldError]) -> None:
    if name in _CONTAINER:
        return
    validate_name(name, path, errors)
    if "/" not in name:
        if not is_huge_pages(name):
            errors.append(field_errors.invalid_formatted(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(field_errors.invalid_formatted(path, name, "doesn't follow extended resource name standard"))


def validate_quota_name(name: str, path: str, errors: list[FieldError]) -> None:
    validate_name(name, path, errors)
    if "/" not in name and not is_standard_quota(name):
        errors.append(field_errors.invalid_formatted(path, name, "must be a standard resource for quota"))


def validate_value(name: str, value: str, path: str, errors: list[FieldError]) -> None:
    if quantities.nanos(value) < 0:
        errors.append(field_errors.invalid(path, value, MUST_NOT_BE_NEGATIVE))
    if is_integer_resource(name) and not quantities.is_integer(value):
        errors.append(field_errors.invalid_formatted(path, quantities.go_syntax(value), "must be an integer"))


def validate_requirements(requirements: Object, path: str, errors: list[FieldError]) -> None:
    """ValidateResourceRequirements of a container."""
    limits, requests = requirements.get("limits") or {}, requirements.get("requests") or {}
    for name, value in limits.items():
        if not _is_valid_compute_resource(name, value):
            _validate_resource(name, value, f"{path}.limits[{name}]", errors)
    for name, value in requests.items():
        if not _is_valid_compute_resource(name, value):
            _validate_resource(name, value, f"{path}.requests[{name}]", errors)
        if limits.get(name) != value:
            _validate_against_limit(name, value, limits, path, errors)
    if any(map(is_huge_pages, (*limits, *requests))) and not {"cpu", "memory"} & {*limits, *requests}:
        errors.append(field_errors.forbidden(path, "HugePages require cpu or memory"))


def _is_valid_compute_resource(name: str, value: str) -> bool:
    return name in _CONTAINER and _is_not_negative(value)


@cached(4096)
def _is_not_negative(value: str) -> bool:
    return quantities.nanos(value) >= 0


def _validate_resource(name: str, value: str, path: str, errors: list[FieldError]) -> None:
    validate_container_name(name, path, errors)
    validate_value(name, value, path, errors)
    if is_huge_pages(name):
        _validate_huge_pages(name, value, path, errors)


def _validate_against_limit(name: str, value: str, limits: dict[str, str], path: str, errors: list[FieldError]) -> None:
    limit = limits.get(name)
    if limit is None:
        if not is_overcommit_allowed(name):
            errors.append(field_errors.required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
    else:
        request, most = quantities.nanos(value), quantities.nanos(limit)
        if request != most and not is_overcommit_allowed(name):
            errors.append(field_errors.invalid(f"{path}.requests", value, f"must be equal to {name} limit of {limit}"))
        elif request > most:
            errors.append(
                field_errors.invalid(f"{path}.requests", value, f"must be less than or equal to {name} limit of {limit}")
            )


def _validate_huge_pages(name: str, value: str, path: str, errors: list[FieldError]) -> None:
    size = name.removeprefix(HUGE_PAGES)
    multiple = (
        quantities.is_quantity(size) and quantities.value(size) > 0 and quantities.value(value) % quantities.value(size) == 0
    )
    if not multiple:
        errors.append(field_errors.invalid(path, value, f"{value} is not positive integer multiple of {name}"))
