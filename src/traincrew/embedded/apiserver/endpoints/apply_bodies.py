"""The configuration of a server-side apply, in YAML or JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.patches import apply
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.requests.request import JSON, ApiRequest
from traincrew.embedded.apiserver.schema import decoding, serialization

YAML = "application/yaml"


class ApplyConfiguration(NamedTuple):
    object: Object
    duplicate_fields: tuple[str, ...] = ()
    """Duplicate fields, with their lines."""

    def warnings(self, validation: str) -> tuple[str, ...]:
        """Checked last of all errors of an apply. Raises StatusError if decoding is strict."""
        if self.duplicate_fields and validation == "Strict":
            lines = "\n  ".join(self.duplicate_fields)
            message = f"error converting YAML to JSON: yaml: unmarshal errors:\n  {lines}"
            raise api_errors.bad_request(f"error strict decoding YAML: {message}")
        return () if validation == "Ignore" else self.duplicate_fields


def read(request: ApiRequest) -> ApplyConfiguration:
    info = request.info
    content, duplicate_fields = _content(request.body)
    apply.validate(content, info.schema, (info.api_version, info.kind))
    expected = decoding.Expected(info.kind, info.api_version)
    return ApplyConfiguration(
        decoding.decode(msgspec.json.encode(content), JSON, info.schema, expected, "Ignore").object, duplicate_fields
    )


def _content(body: bytes) -> tuple[Any, tuple[str, ...]]:
    """Tried as JSON first: it is fifty times faster, and most clients send it."""
    try:
        content = serialization.read(body, JSON)
        if not content.unsure:
            return _or_empty(content.value), ()
    except serialization.ParseError:
        pass
    try:
        content = serialization.read(body, YAML)
    except serialization.ParseError as error:
        raise api_errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    return _or_empty(content.value), tuple(content.warnings)


def _or_empty(content: Any) -> Any:
    return {} if content is None else content
