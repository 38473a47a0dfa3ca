"""From a request's body to an object, as an API server reads it: strictly, with a warning, or silently."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, NamedTuple

from traincrew.embedded import fields, refusals
from traincrew.embedded.schemas import bodies, builtins, coercion, faults, nodes, typed
from traincrew.embedded.schemas.builtins import GO_FIELDS, GO_STRUCT
from traincrew.embedded.served import Object, Schema

Validation = Literal["Strict", "Warn", "Ignore", ""]
"""fieldValidation of the request; empty is Warn."""

_SCHEME = 'in scheme "pkg/runtime/scheme.go:100"'
_INTERNAL = {"": "core", "events.k8s.io": "core", "rbac.authorization.k8s.io": "rbac"}
"""The package of a group's internal types, where it is not the first word of the group."""


_TITLES = {"kind": "kind", "apiversion": "apiVersion"}


class _Untitled(Exception):
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
    """The object in a body of JSON or YAML. Unknown fields are dropped and told as fieldValidation says; raises Refusal.

    Of a built-in kind, nulls are dropped, and quantities, times and bytes are in the form in which they are written back.
    Of a custom resource (a schema that no Go struct belongs to), metadata is in the form in which it is written back, unknown
    fields are pruned, and nulls are dropped where the schema has no place for them.
    """
    try:
        read = bodies.read(body, content_type)
        found = _Title.of(read)
    except (bodies.Unrecognized, RecursionError) as error:
        raise _unrecognized(body, expected, str(error) or "exceeded max depth") from None
    try:
        if GO_FIELDS in schema:
            obj, strict = _built_in(read, found.or_else(expected), schema, expected)
        else:
            obj, strict = _custom(read, found, schema, expected)
    except (faults.Unreadable, nodes.TooLarge) as error:
        raise _unhandled(found.or_else(expected), expected, str(error)) from None
    except _Untitled:
        told = f"Object 'Kind' is missing in '{body.decode('utf-8', 'replace')}'"
        silent = validation == "Ignore"
        refusal = _unhandled(found.or_else(expected), expected, told) if silent else _unrecognized(body, expected, told)
        raise refusal from None
    if not strict or validation == "Ignore":
        return Decoded(obj)
    if validation == "Strict":
        raise _unhandled(found.or_else(expected), expected, "strict decoding error: " + ", ".join(map(_as_error, strict)))
    return Decoded(obj, tuple(strict))


def _as_error(told: str) -> str:
    return f"yaml: unmarshal errors:\n  {told}" if told.startswith("line ") else told


@dataclasses.dataclass(frozen=True)
class _Title:
    """What a body says that it is."""

    kind: str
    api_version: str

    @staticmethod
    def of(read: bodies.Body) -> _Title:
        value = read.value
        if value.__class__ is dict:
            kind, version = value.get("kind"), value.get("apiVersion")
            plain = isinstance(kind, str) and isinstance(version, str) and not read.unsure and version.count("/") < 2
            if plain and not any(key.casefold() in _TITLES for key in value if key not in ("kind", "apiVersion")):
                return _Title(str(kind), str(version))
        return _title(read.nodes)

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    def or_else(self, expected: Expected) -> _Title:
        return _Title(self.kind or expected.kind, self.api_version or expected.api_version)


def _title(node: Any) -> _Title:
    """As a reader that ignores case finds it, with words for what it cannot read."""
    if node is not None and not isinstance(node, nodes.Pairs):
        form = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        raise bodies.Unrecognized(
            "couldn't get version/kind; json parse error: "
            f"json: cannot unmarshal {faults.described(node)} into Go value of type {form}"
        )
    found = {"kind": "", "apiVersion": ""}
    for key, inner in node or ():
        name = _TITLES.get(key.casefold())
        if name is None or inner is None:
            continue
        if not isinstance(inner, str) or isinstance(inner, nodes.Literal):
            told = f"json: cannot unmarshal {faults.described(inner)} into Go struct field .{name} of type string"
            raise bodies.Unrecognized("couldn't get version/kind; json parse error: " + told)
        found[name] = inner
    if found["apiVersion"].count("/") > 1:
        raise bodies.Unrecognized(f"unexpected GroupVersion string: {found['apiVersion']}")
    return _Title(found["kind"], found["apiVersion"])


def _built_in(read: bodies.Body, title: _Title, schema: Schema, expected: Expected) -> tuple[Object, list[str]]:
    other = (title.kind, title.api_version) != (expected.kind, expected.api_version)
    if other:
        try:
            schema = builtins.load().schema(title.group, title.version, title.kind)
        except KeyError:
            told = f'no kind "{title.kind}" is registered for version "{title.api_version}" {_SCHEME}'
            raise _unhandled(title, expected, told) from None
    obj, strict = _typed(read, schema)
    if other:
        raise _another_kind(title, expected)
    obj["kind"], obj["apiVersion"] = title.kind, title.api_version
    return obj, strict


def _typed(read: bodies.Body, schema: Schema) -> tuple[Object, list[str]]:
    struct = typed.struct(schema)
    if not read.unsure and read.value.__class__ is dict:
        try:
            quick: Object = struct.read(read.value)
            return quick, []
        except typed.Irregular:
            # What was read so far has been changed; the nodes have not.
            pass
    slow = faults.Reading(read.nodes, schema, f"v1.{schema[GO_STRUCT]}")
    obj: Object = struct.read(slow.value or {})
    return obj, [*read.told, *slow.strict]


def _another_kind(title: _Title, expected: Expected) -> refusals.Refusal:
    if title.kind == expected.kind and _package(title.group) == _package(expected.group):
        return _another_version(title.api_version, expected)
    names = f"({title.version}.{title.kind}) to ({_package(expected.group)}.{expected.kind})"
    return _unhandled(title, expected, f"converting {names}: unknown conversion")


def _package(group: str) -> str:
    return _INTERNAL.get(group) or group.partition(".")[0]


def _another_version(given: str, expected: Expected) -> refusals.Refusal:
    told = f"the API version in the data ({given}) does not match the expected API version ({expected.api_version})"
    return refusals.bad_request(told)


def _custom(read: bodies.Body, title: _Title, schema: Schema, expected: Expected) -> tuple[Object, list[str]]:
    value = read.value if not read.unsure or read.told else nodes.plain(read.nodes)
    if not isinstance(value, dict) or not value.get("kind"):
        raise _Untitled
    twice = [f'duplicate field "{path}"' for path in dict.fromkeys(nodes.duplicates(read.nodes))] if read.unsure else []
    strict = [*read.told, *twice[: faults.MOST_STRICT], *coercion.coerce(value, schema)]
    given = value.get("apiVersion", "")
    if given != expected.api_version:
        raise _another_version(given, expected)
    if value["kind"] != expected.kind:
        fault = fields.invalid("kind", value["kind"], f"must be {expected.kind}")
        name = (value.get("metadata") or {}).get("name", "")
        raise refusals.invalid(value["kind"], expected.group, name, [fault])
    return value, strict


def _unhandled(title: _Title, expected: Expected, why: str) -> refusals.Refusal:
    told = f'{title.kind} in version "{title.version}" cannot be handled as a {expected.kind}: {why}'
    return refusals.bad_request(told)


def _unrecognized(body: bytes, expected: Expected, why: str) -> refusals.Refusal:
    told = f"the object provided is unrecognized (must be of type {expected.kind}): {why} ({_summary(body)})"
    return refusals.bad_request(told)


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    start, more = body[:30], " ..." if len(body) > 30 else ""
    return (start.decode("utf-8", "replace") if body.startswith(b"{") else start.hex()) + more
