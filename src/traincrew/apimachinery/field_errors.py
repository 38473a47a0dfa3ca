"""field.Error: errors of fields, with the messages of the Kubernetes API server."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from traincrew.apimachinery import go_format

REQUIRED = "FieldValueRequired"
INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
NOT_SUPPORTED = "FieldValueNotSupported"
DUPLICATE = "FieldValueDuplicate"
FORBIDDEN = "FieldValueForbidden"
NOT_FOUND = "FieldValueNotFound"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"

MAX_ERRORS = 1_000
MAX_ERROR_BYTES = 2**20
"""Of the paths and messages of all errors."""


@dataclasses.dataclass(frozen=True)
class FieldError:
    """A cause of a 422. `path` has the form `spec.containers[0].image`."""

    reason: str
    path: str
    message: str
    """Without the path: `Required value`, `Invalid value: "x": must be ...`."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class TooManyErrors(Exception):
    """The validation stopped, because an object of a few kilobytes may have errors of many megabytes."""

    def __init__(self, errors: FieldErrors) -> None:
        super().__init__(f"more than {MAX_ERRORS} errors")
        self.errors = errors


class FieldErrors(list[FieldError]):
    """The errors of an object. Adding more than the limit raises TooManyErrors, which holds those that fit."""

    def __init__(self, errors: Iterable[FieldError] = ()) -> None:
        super().__init__()
        self._bytes = 0
        self.extend(errors)

    def append(self, error: FieldError) -> None:
        self._bytes += len(error.path) + len(error.message)
        super().append(error)
        if len(self) >= MAX_ERRORS or self._bytes > MAX_ERROR_BYTES:
            raise TooManyErrors(self)

    def extend(self, errors: Iterable[FieldError]) -> None:
        for each in errors:
            self.append(each)

    def __iadd__(self, errors: Iterable[FieldError]) -> FieldErrors:  # type: ignore[override,misc]
        self.extend(errors)
        return self


def required(path: str, detail: str = "") -> FieldError:
    return FieldError(REQUIRED, path, _with("Required value", detail))


def invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError(INVALID, path, _with(f"Invalid value: {go_format.field_value(value)}", detail))


def not_supported(path: str, value: Any, supported: Iterable[str]) -> FieldError:
    listed = ", ".join(go_format.quote(each) for each in supported)
    return FieldError(
        NOT_SUPPORTED, path, _with(f"Unsupported value: {go_format.field_value(value)}", listed and f"supported values: {listed}")
    )


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError(DUPLICATE, path, f"Duplicate value: {go_format.field_value(value)}")


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError(FORBIDDEN, path, _with("Forbidden", detail))


def not_found(path: str, value: Any) -> FieldError:
    return FieldError(NOT_FOUND, path, f"Not found: {go_format.field_value(value)}")


def too_long(path: str, most: int) -> FieldError:
    return FieldError(TOO_LONG, path, f"Too long: may not be more than {most} bytes")


def too_many(path: str, count: int, most: int) -> FieldError:
    return FieldError(TOO_MANY, path, f"Too many: {count}: must have at most {most} item{'s' if most != 1 else ''}")


def invalid_formatted(path: str, text: str, detail: str) -> FieldError:
    """With a value that is already written in Go's syntax."""
    return FieldError(INVALID, path, f"Invalid value: {text}: {detail}")


def invalid_without_value(path: str, detail: str) -> FieldError:
    """Where the API server omits the value."""
    return FieldError(INVALID, path, f"Invalid value: {detail}")


def duplicate_formatted(path: str, text: str, detail: str = "") -> FieldError:
    return FieldError(DUPLICATE, path, _with(f"Duplicate value: {text}", detail))


def _with(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text
