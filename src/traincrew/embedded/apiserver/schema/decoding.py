"""Decodes the body of a request to an object, with field validation Strict, Warn or Ignore."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from traincrew import errors
from traincrew.apimachinery import api_errors, field_errors
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import (
    builtin_kinds,
    coercion,
    custom_decoders,
    json_tree,
    serialization,
    typed_decoding,
    typed_decoding_errors,
)
from traincrew.embedded.apiserver.schema.builtin_kinds import GO_FIELDS, GO_STRUCT

Validation = Literal["Strict", "Warn", "Ignore", ""]
"""The fieldValidation of the request; empty means Warn."""

_SCHEME = 'in scheme "pkg/runtime/scheme.go:100"'
_INTERNAL = {"": "core", "events.k8s.io": "core", "rbac.authorization.k8s.io": "rbac"}
"""The Go package of a group's internal types, if it is not the first label of the group."""
_WITHOUT_SCHEMA = {("List", "v1")}
"""Kinds of kube-apiserver that have no schema."""


_TITLES = {"kind": "kind", "apiversion": "apiVersion"}


class DecodeError(Exception):
    """The body cannot be decoded. The caller words the error."""

    def __init__(self, why: str, title: TypeMeta | None = None) -> None:
        super().__init__(why)
        self.title = title
        """The type metadata of the body; None if it could not be parsed."""


class _MissingKind(DecodeError):
    """The body of a custom resource has no kind."""


class Decoded(NamedTuple):
    object: Object
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Expected:
    """The expected type of a body."""

    kind: str
    api_version: str

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]


def decode(body: bytes, content_type: str, schema: Schema, expected: Expected, validation: Validation = "Strict") -> Decoded:
    """The object in a body of JSON or YAML. Unknown fields are dropped and reported by fieldValidation. Raises StatusError.

    For a built-in kind, nulls are dropped, and quantities, times and bytes are canonical.
    For a custom resource (a schema without Go struct), metadata is canonical, unknown fields are pruned, and nulls are
    dropped if the schema does not allow them.
    """
    try:
        obj, strict, title = read(body, content_type, schema, expected)
    except DecodeError as error:
        if error.title is None or (isinstance(error, _MissingKind) and validation != "Ignore"):
            raise _unrecognized(body, expected, str(error)) from None
        raise _unhandled(error.title, expected, str(error)) from None
    if not strict or validation == "Ignore":
        return Decoded(obj)
    if validation == "Strict":
        raise _unhandled(title, expected, strict_message(strict))
    return Decoded(obj, tuple(strict))


def read(body: bytes, content_type: str, schema: Schema, expected: Expected) -> tuple[Object, list[str], TypeMeta]:
    """The object, the errors of strict decoding, and the type metadata of the body. Raises DecodeError, or StatusError if the
    message does not depend on the caller."""
    try:
        content = serialization.read(body, content_type)
        type_meta = TypeMeta.of(content)
    except (serialization.ParseError, RecursionError) as error:
        raise DecodeError(str(error) or "exceeded max depth") from None
    title = type_meta.or_else(expected)
    try:
        return *(_built_in if GO_FIELDS in schema else _custom)(content, title, schema, expected), title
    except (typed_decoding_errors.TypedDecodeError, json_tree.TooLarge) as error:
        raise DecodeError(str(error), title) from None


def strict_message(strict: Sequence[str]) -> str:
    lines = [each for each in strict if each.startswith("line ")]
    others = [each for each in strict if not each.startswith("line ")]
    of_yaml = ["yaml: unmarshal errors:\n  " + "\n  ".join(lines)] if lines else []
    return errors.STRICT_DECODING + ", ".join([*of_yaml, *others])


@dataclasses.dataclass(frozen=True)
class TypeMeta:
    """The apiVersion and kind of a body."""

    kind: str
    api_version: str

    @staticmethod
    def of(read: serialization.Body) -> TypeMeta:
        value = read.value
        if value.__class__ is dict:
            kind, version = value.get("kind"), value.get("apiVersion")
            plain = isinstance(kind, str) and isinstance(version, str) and not read.unsure and version.count("/") < 2
            if plain and not any(key.casefold() in _TITLES for key in value if key not in ("kind", "apiVersion")):
                return TypeMeta(str(kind), str(version))
        return _type_meta(read.nodes)

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    def or_else(self, expected: Expected) -> TypeMeta:
        return TypeMeta(self.kind or expected.kind, self.api_version or expected.api_version)


def _type_meta(node: Any) -> TypeMeta:
    """Decoded case-insensitively, with Go's errors."""
    if node is not None and not isinstance(node, json_tree.Members):
        form = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        raise serialization.ParseError(
            "couldn't get version/kind; json parse error: "
            f"json: cannot unmarshal {custom_decoders.described(node)} into Go value of type {form}"
        )
    type_meta = {"kind": "", "apiVersion": ""}
    for key, inner in node or ():
        name = _TITLES.get(key.casefold())
        if name is None or inner is None:
            continue
        if not isinstance(inner, str) or isinstance(inner, json_tree.Literal):
            message = f"json: cannot unmarshal {custom_decoders.described(inner)} into Go struct field .{name} of type string"
            raise serialization.ParseError("couldn't get version/kind; json parse error: " + message)
        type_meta[name] = inner
    if type_meta["apiVersion"].count("/") > 1:
        raise serialization.ParseError(f"unexpected GroupVersion string: {type_meta['apiVersion']}")
    return TypeMeta(type_meta["kind"], type_meta["apiVersion"])


def _built_in(read: serialization.Body, title: TypeMeta, schema: Schema, expected: Expected) -> tuple[Object, list[str]]:
    other = (title.kind, title.api_version) != (expected.kind, expected.api_version)
    if other:
        try:
            schema = builtin_kinds.load().schema(title.group, title.version, title.kind)
        except KeyError:
            raise _unknown_kind(title, expected) from None
    obj, strict = _typed(read, schema)
    if other:
        raise _another_kind(title, expected)
    obj["kind"], obj["apiVersion"] = title.kind, title.api_version
    return obj, strict


def _typed(read: serialization.Body, schema: Schema) -> tuple[Object, list[str]]:
    struct = typed_decoding.struct(schema)
    if not read.unsure and read.value.__class__ is dict:
        try:
            quick: Object = struct.read(read.value)
            return quick, []
        except typed_decoding.Irregular:
            # The partly decoded value was changed in place; the nodes are unchanged.
            pass
    slow = typed_decoding_errors.TypedDecoder(read.nodes, schema, f"v1.{schema[GO_STRUCT]}")
    obj: Object = struct.read(slow.value or {})
    return obj, [*read.warnings, *slow.strict]


def _unknown_kind(title: TypeMeta, expected: Expected) -> Exception:
    if (title.kind, title.api_version) in _WITHOUT_SCHEMA:
        return _another_kind(title, expected)
    return DecodeError(unregistered(title), title)


def unregistered(title: TypeMeta) -> str:
    return f'no kind "{title.kind}" is registered for version "{title.api_version}" {_SCHEME}'


def _another_kind(title: TypeMeta, expected: Expected) -> Exception:
    if title.kind == expected.kind and _package(title.group) == _package(expected.group):
        return _another_version(title.api_version, expected)
    names = f"({title.version}.{title.kind}) to ({_package(expected.group)}.{expected.kind})"
    return DecodeError(f"converting {names}: unknown conversion", title)


def _package(group: str) -> str:
    return _INTERNAL.get(group) or group.partition(".")[0]


def _another_version(given: str, expected: Expected) -> api_errors.StatusError:
    message = f"the API version in the data ({given}) does not match the expected API version ({expected.api_version})"
    return api_errors.bad_request(message)


def _custom(read: serialization.Body, title: TypeMeta, schema: Schema, expected: Expected) -> tuple[Object, list[str]]:
    value = read.value if not read.unsure or read.warnings else json_tree.plain(read.nodes)
    if not isinstance(value, dict) or not value.get("kind"):
        raise _MissingKind(f"Object 'Kind' is missing in '{read.raw.decode('utf-8', 'replace')}'", title)
    twice = [f'duplicate field "{path}"' for path in dict.fromkeys(json_tree.duplicates(read.nodes))] if read.unsure else []
    strict = [*read.warnings, *twice[: typed_decoding_errors.MAX_STRICT_ERRORS], *coercion.coerce(value, schema)]
    given = value.get("apiVersion", "")
    if given != expected.api_version:
        raise _another_version(given, expected)
    if value["kind"] != expected.kind:
        error = field_errors.invalid("kind", value["kind"], f"must be {expected.kind}")
        name = (value.get("metadata") or {}).get("name", "")
        raise api_errors.invalid(value["kind"], expected.group, name, [error])
    return value, strict


def _unhandled(title: TypeMeta, expected: Expected, why: str) -> api_errors.StatusError:
    message = f'{title.kind} in version "{title.version}" cannot be handled as a {expected.kind}: {why}'
    return api_errors.bad_request(message)


def _unrecognized(body: bytes, expected: Expected, why: str) -> api_errors.StatusError:
    message = f"the object provided is unrecognized (must be of type {expected.kind}): {why} ({_summary(body)})"
    return api_errors.bad_request(message)


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    start, more = body[:30], " ..." if len(body) > 30 else ""
    return (start.decode("utf-8", "replace") if body.startswith(b"{") else start.hex()) + more
