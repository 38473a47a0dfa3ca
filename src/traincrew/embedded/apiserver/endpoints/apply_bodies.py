"""The configuration of a server-side apply: YAML, or JSON, which is YAML too."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.patches import apply
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.requests.request import JSON, Request
from traincrew.embedded.apiserver.schema import decoding, serialization

YAML = "application/yaml"


class ApplyConfiguration(NamedTuple):
    object: Object
    twice: tuple[str, ...] = ()
    """The fields that it has more than once, by their lines."""

    def warnings(self, validation: str) -> tuple[str, ...]:
        """Comes after everything else that can be wrong with an apply. Raises StatusError if reading is strict."""
        if self.twice and validation == "Strict":
            lines = "\n  ".join(self.twice)
            message = f"error converting YAML to JSON: yaml: unmarshal errors:\n  {lines}"
            raise api_errors.bad_request(f"error strict decoding YAML: {message}")
        return () if validation == "Ignore" else self.twice


def read(request: Request) -> ApplyConfiguration:
    info = request.info
    content, twice = _content(request.body)
    apply.validate(content, info.schema, (info.api_version, info.kind))
    expected = decoding.Expected(info.kind, info.api_version)
    return ApplyConfiguration(decoding.decode(msgspec.json.encode(content), JSON, info.schema, expected, "Ignore").object, twice)


def _content(body: bytes) -> tuple[Any, tuple[str, ...]]:
    """Read as JSON first: fifty times faster, and what most clients send."""
    try:
        found = serialization.read(body, JSON)
        if not found.unsure:
            return _or_empty(found.value), ()
    except serialization.ParseError:
        pass
    try:
        found = serialization.read(body, YAML)
    except serialization.ParseError as error:
        raise api_errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    return _or_empty(found.value), tuple(found.told)


def _or_empty(content: Any) -> Any:
    return {} if content is None else content
