"""Typed decoding of built-in objects, the slow path: with Go's error messages.

After a value of a wrong type decoding goes on, and the first such error is reported at the end; but an error of a type with its
own decoder (quantities, times) is reported at once. Unknown and duplicate fields are reported if there is no other error.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from traincrew.apimachinery import go_base64, go_format, quantities, times
from traincrew.apimachinery.resource_info import Schema
from traincrew.embedded.apiserver.schema import json_tree
from traincrew.embedded.apiserver.schema.builtin_kinds import GO_FIELDS, GO_STRUCT, GO_UNION
from traincrew.embedded.apiserver.schema.custom_decoders import CUSTOM_DECODERS, WrongType, described
from traincrew.embedded.apiserver.schema.json_tree import Literal, Members

MAX_STRICT_ERRORS = 100
"""The maximum number of unknown and duplicate fields reported."""


class TypedDecodeError(ValueError):
    """Decoding failed. The message is that of Go."""


@dataclasses.dataclass(frozen=True)
class _FieldPath:
    struct: str = ""
    fields: str = ""
    """As in Go's messages: field names only."""
    path: str = ""
    """As in strict errors: with indexes and the keys of maps."""

    def field(self, struct: str, name: str) -> _FieldPath:
        fields = f"{self.fields}.{name}" if self.fields else name
        return _FieldPath(struct, fields, self.key(name))

    def key(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


class TypedDecoder:
    """Decodes one body into the struct of a schema."""

    def __init__(self, node: Any, schema: Schema, go: str) -> None:
        self._first = ""
        self._strict: dict[tuple[str, str], None] = {}
        self._lenient = False
        self.value = self._read(node, schema, go, _FieldPath())
        if self._first:
            raise TypedDecodeError(self._first)

    @property
    def strict(self) -> list[str]:
        return [f"{what} field {go_format.quote(path)}" for what, path in list(self._strict)[:MAX_STRICT_ERRORS]]

    @property
    def paths(self) -> list[str]:
        """The paths of the fields that `strict` reports."""
        return [path for _, path in list(self._strict)[:MAX_STRICT_ERRORS]]

    def _read(self, node: Any, schema: Schema, go: str, at: _FieldPath) -> Any:
        if GO_UNION in schema:
            return self._union(node, schema, at)
        if schema.get("format") in CUSTOM_DECODERS:
            return self._custom_decoder(node, schema["format"], at)
        if node is None:
            return None
        if GO_FIELDS in schema and isinstance(node, Members):
            return self._struct(node, schema, at)
        if "additionalProperties" in schema and isinstance(node, Members):
            return self._map(node, schema["additionalProperties"], element(go), at)
        if schema.get("type") == "array" and isinstance(node, list) and not isinstance(node, Members):
            return self._list(node, schema["items"], element(go), at)
        return self._scalar(node, schema, go, at)

    def _struct(self, node: Members, schema: Schema, at: _FieldPath) -> dict[str, Any]:
        types, properties, decoded = schema[GO_FIELDS], schema.get("properties", {}), dict[str, Any]()
        for key, inner in node:
            if key not in types:
                self._report_strict("unknown", at.key(key))
                continue
            if key in decoded:
                self._report_strict("duplicate", at.key(key))
            go = types[key].rstrip("!").lstrip("*")
            value = self._read(inner, properties.get(key, {}), go, at.field(schema[GO_STRUCT], key))
            decoded[key] = _merged(decoded.get(key), value)
        return decoded

    def _map(self, node: Members, schema: Schema, go: str, at: _FieldPath) -> dict[str, Any]:
        decoded: dict[str, Any] = {}
        for key, inner in node:
            if key in decoded:
                self._report_strict("duplicate", at.key(key))
            decoded[json_tree.text(key)] = self._read(inner, schema, go, dataclasses.replace(at, path=at.key(key)))
        return decoded

    def _list(self, node: list[Any], schema: Schema, go: str, at: _FieldPath) -> list[Any]:
        return [
            self._read(inner, schema, go, dataclasses.replace(at, path=f"{at.path}[{index}]")) for index, inner in enumerate(node)
        ]

    def _scalar(self, node: Any, schema: Schema, go: str, at: _FieldPath) -> Any:
        kind = schema.get("type")
        match node:
            case bool() if kind == "boolean":
                return node
            case Literal() if kind in ("integer", "number"):
                return self._number(node, go, at)
            case Literal() | Members() | list() | bool() if kind is not None and not _open(schema):
                self._report_type(described(node), go, at)
            case str() if kind not in ("string", None) and not _open(schema):
                self._report_type("string", go, at)
        return json_tree.plain(node)

    def _number(self, node: Literal, go: str, at: _FieldPath) -> Any:
        bits = 31 if go == "int32" else 63
        try:
            value = float(node) if go == "float64" else int(node)
        except ValueError:
            value = float("inf")
        fits = abs(value) != float("inf") if go == "float64" else -(2**bits) <= value < 2**bits
        if not fits:
            self._report_type(f"number {node}", go, at)
        return value

    def _custom_decoder(self, node: Any, format: str, at: _FieldPath) -> Any:
        if node is None:
            return None
        try:
            return CUSTOM_DECODERS[format](node)
        except WrongType as error:
            message = _message(error.value, error.go, at)
            if format == "byte":
                self._first = self._first or message
                return None
            raise TypedDecodeError(message) from None
        except (quantities.QuantityError, times.TimeError) as error:
            raise TypedDecodeError(str(error)) from None
        except go_base64.Base64Error as error:
            self._first = self._first or str(error)
            return None

    def _union(self, node: Any, schema: Schema, at: _FieldPath) -> Any:
        """A type with its own decoder: unknown fields in it are ignored."""
        if node is None:
            return None
        other, lenient = schema[GO_UNION], self._lenient
        self._lenient = True
        try:
            if isinstance(node, Members):
                return self._struct(node, schema["items"], at)
            if isinstance(node, list) and other != "bool":
                inner, go = (schema["items"], "v1.JSONSchemaProps") if other == "array" else ({"type": "string"}, "string")
                return self._list(node, inner, go, at)
        finally:
            self._lenient = lenient
        if other == "bool" and not isinstance(node, bool):
            raise TypedDecodeError("boolean or JSON schema expected")
        return node if isinstance(node, bool) else None

    def _report_type(self, value: str, go: str, at: _FieldPath) -> None:
        self._first = self._first or _message(value, go, at)

    def _report_strict(self, what: str, path: str) -> None:
        if not self._lenient:
            self._strict.setdefault((what, path))


def _message(value: str, go: str, at: _FieldPath) -> str:
    if at.fields:
        return f"json: cannot unmarshal {value} into Go struct field {at.struct}.{at.fields} of type {go}"
    return f"json: cannot unmarshal {value} into Go value of type {go}"


def _open(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def element(go: str) -> str:
    """The Go element type of a list or a map."""
    for named, element in (("v1.ResourceList", "resource.Quantity"), ("v1.ValidationRules", "v1.ValidationRule")):
        if go == named:
            return element
    return go.partition("]")[2].lstrip("*") or "v1.JSONSchemaProps"


def _merged(before: Any, after: Any) -> Any:
    """A duplicate is decoded into the value of the first one."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before | {key: _merged(before.get(key), inner) for key, inner in after.items()}
    return before if after is None else after
