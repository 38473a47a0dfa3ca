"""From a request's body to an object, as an API server reads it: strictly, with a warning, or silently."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from traincrew.apimachinery import api_errors, field_errors
from traincrew.apimachinery.resource_info import Object, Schema
from traincrew.embedded.apiserver.schema import (
    builtin_kinds,
    coercion,
    json_tree,
    serialization,
    typed_decoding,
    typed_decoding_errors,
)
from traincrew.embedded.apiserver.schema.builtin_kinds import GO_FIELDS, GO_STRUCT

Validation = Literal["Strict", "Warn", "Ignore", ""]
"""fieldValidation of the request; empty is Warn."""

_SCHEME = 'in scheme "pkg/runtime/scheme.go:100"'
_INTERNAL = {"": "core", "events.k8s.io": "core", "rbac.authorization.k8s.io": "rbac"}
"""The package of a group's internal types, where it is not the first word of the group."""
_UNDESCRIBED = {("List", "v1")}
"""Kinds that a Kubernetes API server knows and that have no schema."""


_TITLES = {"kind": "kind", "apiversion": "apiVersion"}


class Misread(Exception):
    """Why a body is not what it should be; whoever asked for it says so in words of their own."""

    def __init__(self, why: str, title: Title | None = None) -> None:
        super().__init__(why)
        self.title = title
        """What it says that it is; None: it could not even be looked at."""


class _Untitled(Misread):
    """A custom resource must say its kind."""


class Decoded(NamedTuple):
    object: Object
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Expected:
    """What a request's body must be."""

    kind: str
    api_version: str

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]


def decode(body: bytes, content_type: str, schema: Schema, expected: Expected, validation: Validation = "Strict") -> Decoded:
    """The object in a body of JSON or YAML. Unknown fields are dropped and told as fieldValidation says; raises StatusError.

    Of a built-in kind, nulls are dropped, and quantities, times and bytes are in the form in which they are written back.
    Of a custom resource (a schema that no Go struct belongs to), metadata is in the form in which it is written back, unknown
    fields are pruned, and nulls are dropped where the schema has no place for them.
    """
    try:
        obj, strict, title = read(body, content_type, schema, expected)
    except Misread as fault:
        if fault.title is None or (isinstance(fault, _Untitled) and validation != "Ignore"):
            raise _unrecognized(body, expected, str(fault)) from None
        raise _unhandled(fault.title, expected, str(fault)) from None
    if not strict or validation == "Ignore":
        return Decoded(obj)
    if validation == "Strict":
        raise _unhandled(title, expected, strict_words(strict))
    return Decoded(obj, tuple(strict))


def read(body: bytes, content_type: str, schema: Schema, expected: Expected) -> tuple[Object, list[str], Title]:
    """The object, what strict reading holds against it, and what the body says that it is. Raises Misread; and StatusError where
    the words are the same whoever asks."""
    try:
        found = serialization.read(body, content_type)
        said = Title.of(found)
    except (serialization.Unrecognized, RecursionError) as error:
        raise Misread(str(error) or "exceeded max depth") from None
    title = said.or_else(expected)
    try:
        return *(_built_in if GO_FIELDS in schema else _custom)(found, title, schema, expected), title
    except (typed_decoding_errors.Unreadable, json_tree.TooLarge) as error:
        raise Misread(str(error), title) from None


def strict_words(strict: Sequence[str]) -> str:
    lines = [each for each in strict if each.startswith("line ")]
    others = [each for each in strict if not each.startswith("line ")]
    of_yaml = ["yaml: unmarshal errors:\n  " + "\n  ".join(lines)] if lines else []
    return "strict decoding error: " + ", ".join([*of_yaml, *others])


@dataclasses.dataclass(frozen=True)
class Title:
    """What a body says that it is."""

    kind: str
    api_version: str

    @staticmethod
    def of(read: serialization.Body) -> Title:
        value = read.value
        if value.__class__ is dict:
            kind, version = value.get("kind"), value.get("apiVersion")
            plain = isinstance(kind, str) and isinstance(version, str) and not read.unsure and version.count("/") < 2
            if plain and not any(key.casefold() in _TITLES for key in value if key not in ("kind", "apiVersion")):
                return Title(str(kind), str(version))
        return _title(read.nodes)

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    def or_else(self, expected: Expected) -> Title:
        return Title(self.kind or expected.kind, self.api_version or expected.api_version)


def _title(node: Any) -> Title:
    """As a reader that ignores case finds it, with words for what it cannot read."""
    if node is not None and not isinstance(node, json_tree.Pairs):
        form = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        raise serialization.Unrecognized(
            "couldn't get version/kind; json parse error: "
            f"json: cannot unmarshal {typed_decoding_errors.described(node)} into Go value of type {form}"
        )
    found = {"kind": "", "apiVersion": ""}
    for key, inner in node or ():
        name = _TITLES.get(key.casefold())
        if name is None or inner is None:
            continue
        if not isinstance(inner, str) or isinstance(inner, json_tree.Literal):
            told = f"json: cannot unmarshal {typed_decoding_errors.described(inner)} into Go struct field .{name} of type string"
            raise serialization.Unrecognized("couldn't get version/kind; json parse error: " + told)
        found[name] = inner
    if found["apiVersion"].count("/") > 1:
        raise serialization.Unrecognized(f"unexpected GroupVersion string: {found['apiVersion']}")
    return Title(found["kind"], found["apiVersion"])


def _built_in(read: serialization.Body, title: Title, schema: Schema, expected: Expected) -> tuple[Object, list[str]]:
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
            # What was read so far has been changed; the nodes have not.
            pass
    slow = typed_decoding_errors.Reading(read.nodes, schema, f"v1.{schema[GO_STRUCT]}")
    obj: Object = struct.read(slow.value or {})
    return obj, [*read.told, *slow.strict]


def _unknown_kind(title: Title, expected: Expected) -> Exception:
    if (title.kind, title.api_version) in _UNDESCRIBED:
        return _another_kind(title, expected)
    return Misread(unregistered(title), title)


def unregistered(title: Title) -> str:
    return f'no kind "{title.kind}" is registered for version "{title.api_version}" {_SCHEME}'


def _another_kind(title: Title, expected: Expected) -> Exception:
    if title.kind == expected.kind and _package(title.group) == _package(expected.group):
        return _another_version(title.api_version, expected)
    names = f"({title.version}.{title.kind}) to ({_package(expected.group)}.{expected.kind})"
    return Misread(f"converting {names}: unknown conversion", title)


def _package(group: str) -> str:
    return _INTERNAL.get(group) or group.partition(".")[0]


def _another_version(given: str, expected: Expected) -> api_errors.StatusError:
    told = f"the API version in the data ({given}) does not match the expected API version ({expected.api_version})"
    return api_errors.bad_request(told)


def _custom(read: serialization.Body, title: Title, schema: Schema, expected: Expected) -> tuple[Object, list[str]]:
    value = read.value if not read.unsure or read.told else json_tree.plain(read.nodes)
    if not isinstance(value, dict) or not value.get("kind"):
        raise _Untitled(f"Object 'Kind' is missing in '{read.raw.decode('utf-8', 'replace')}'", title)
    twice = [f'duplicate field "{path}"' for path in dict.fromkeys(json_tree.duplicates(read.nodes))] if read.unsure else []
    strict = [*read.told, *twice[: typed_decoding_errors.MOST_STRICT], *coercion.coerce(value, schema)]
    given = value.get("apiVersion", "")
    if given != expected.api_version:
        raise _another_version(given, expected)
    if value["kind"] != expected.kind:
        fault = field_errors.invalid("kind", value["kind"], f"must be {expected.kind}")
        name = (value.get("metadata") or {}).get("name", "")
        raise api_errors.invalid(value["kind"], expected.group, name, [fault])
    return value, strict


def _unhandled(title: Title, expected: Expected, why: str) -> api_errors.StatusError:
    told = f'{title.kind} in version "{title.version}" cannot be handled as a {expected.kind}: {why}'
    return api_errors.bad_request(told)


def _unrecognized(body: bytes, expected: Expected, why: str) -> api_errors.StatusError:
    told = f"the object provided is unrecognized (must be of type {expected.kind}): {why} ({_summary(body)})"
    return api_errors.bad_request(told)


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    start, more = body[:30], " ..." if len(body) > 30 else ""
    return (start.decode("utf-8", "replace") if body.startswith(b"{") else start.hex()) + more
