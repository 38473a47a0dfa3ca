"""Config maps."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy

MAX_BYTES = 1024 * 1024
_WHEN_SET = "field is immutable when `immutable` is set"


def check_keys(data: dict[str, str], path: str, errors: Errors) -> None:
    for key in data:
        if messages := name_validation.config_key(key):
            errors += [field_errors.invalid(f"{path}[{key}]", key, error) for error in messages]


def decoded_size(text: str) -> int:
    return len(text) * 3 // 4 - text[-2:].count("=")


def _default(obj: Object) -> None:
    binary = obj.get("binaryData") or {}
    binary |= {key: "" for key, value in binary.items() if value is None}


def _validate(obj: Object, errors: Errors) -> None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    check_keys(data, "data", errors)
    for key in data.keys() & binary.keys() if binary else ():
        errors.append(field_errors.invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    check_keys(binary, "binaryData", errors)
    size = sum(len(value.encode()) for value in data.values()) + sum(decoded_size(value) for value in binary.values())
    if size > MAX_BYTES:
        errors.append(field_errors.too_long("", MAX_BYTES))


def check_immutable(new: Object, old: Object, errors: Errors) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        errors.append(field_errors.forbidden("immutable", _WHEN_SET))
    for field in ("data", "binaryData"):
        if (new.get(field) or {}) != (old.get(field) or {}):
            errors.append(field_errors.forbidden(field, _WHEN_SET))


CONFIG_MAP = Strategy(
    kind="ConfigMap",
    defaults=_default,
    validation=_validate,
    update_validation=check_immutable,
    update_validation_steps=("meta", "compare", "whole"),
)
