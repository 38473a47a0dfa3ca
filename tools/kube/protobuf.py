"""Writes how objects of the built-in kinds look in protobuf, from the generated.proto files of Kubernetes' Go modules.

    python -m tools.kube.protobuf           writes messages.json into src/traincrew/embedded/apiserver/protobuf

Numbers and types of fields come from the .proto files. What their JSON is called, and which fields are left out of it when they
are empty, is in the Go types, which builtins.json has already: run tools.kube.builtins first.
"""

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tools.kube import build

EMBEDDED = Path(__file__).resolve().parents[2] / "src" / "traincrew" / "embedded"
MODULES = ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver")

SCALARS = ("bool", "bytes", "double", "int32", "int64", "string")
OTHERWISE = (
    "ExtraValue", "FieldsV1", "IntOrString", "JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool",
    "JSONSchemaPropsOrStringArray", "MicroTime", "Quantity", "RawExtension", "Time", "TypeMeta", "Unknown",
)  # fmt: skip
"""Messages whose JSON is no object of their fields; these have the names of the .proto file, and bytes are raw."""
ENVELOPE = "k8s.io.apimachinery.pkg.runtime.Unknown"

NO_BODIES = ("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Patch", "WatchEvent")
"""Kinds that no request carries."""
EVERYWHERE = ("DeleteOptions", "Status")
"""Kinds that every group has."""
UNTOLD = {"apiVersion", "kind"}
"""Fields of JSON that protobuf has in its envelope."""

_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^ {2}(?:(optional|repeated) ([\w.]+)|map<(\w+), ([\w.]+)>) (\w+) = (\d+);$")
_REMARK = re.compile(r"^\s*//.*\n", re.MULTILINE)


class Undecided(Exception):
    """Something in the .proto files that this generator has no rule for."""


@dataclasses.dataclass(frozen=True)
class Field:
    number: int
    name: str
    label: str
    """optional, repeated or map"""
    type: str


Messages = dict[str, list[Field]]


def parsed(text: str) -> Messages:
    """The messages of one .proto file by their full names."""
    found = re.search(r"^package ([\w.]+);$", text, re.MULTILINE)
    if found is None:
        raise Undecided("a .proto file without a package")
    package = found[1]
    messages = {}
    for name, body in _MESSAGE.findall(_REMARK.sub("", text)):
        lines = [line for line in body.splitlines() if line.strip()]
        messages[f"{package}.{name}"] = [_field(package, line) for line in lines]
    return messages


def _field(package: str, line: str) -> Field:
    found = _FIELD.match(line)
    if found is None or found[3] not in (None, "string"):
        raise Undecided(line)
    label, plain, _, valued, name, number = found.groups()
    type = plain or valued
    if type not in SCALARS:
        type = type.removeprefix(".") if type.startswith(".") else f"{package}.{type}"
    return Field(int(number), name, label or "map", type)


class Writing:
    """Collects what can be reached from the kinds."""

    def __init__(self, messages: Messages, types: dict[str, dict[str, str]]) -> None:
        self._messages, self._types = messages, types
        self._origins: dict[str, str] = {}
        self.written: dict[str, list[list[Any]]] = {}

    def add(self, message: str) -> str:
        """The short name under which a message is written."""
        short = _short(message)
        if self._origins.setdefault(short, message) != message:
            raise Undecided(f"{message} and {self._origins[short]} are both {short}")
        if short not in self.written:
            self.written[short] = []
            self.written[short] += sorted(self._rows(message))
        return short

    def _rows(self, message: str) -> Iterator[list[Any]]:
        fields = self._messages[message]
        if message.rpartition(".")[2] not in OTHERWISE:
            yield from self._struct(message, fields, self._types[_definition(message)])
            return
        for each in fields:
            yield [each.number, each.name, _mode(each, "*"), "raw" if each.type == "bytes" else self._type(each.type)]

    def _struct(self, message: str, fields: Iterable[Field], types: dict[str, str]) -> Iterator[list[Any]]:
        names = {_bare(name): name for name in types}
        seen = set(UNTOLD)
        for field in fields:
            name = names.get(_bare(field.name))
            if name is not None:
                seen.add(name)
                yield [field.number, name, _mode(field, types[name]), self._type(field.type)]
            elif field.label == "optional" and field.type not in SCALARS:
                inner = self._inlined(field.type, types)
                seen |= {row[1] for row in self.written[inner]}
                yield [field.number, "", "inline", inner]
            else:
                raise Undecided(f"{message}.{field.name} has no JSON name")
        if set(types) - seen and _definition(message) in self._types:
            raise Undecided(f"{message} has no {set(types) - seen}")

    def _inlined(self, message: str, outer: dict[str, str]) -> str:
        """A struct that is part of another in JSON; where it never stands alone, only the other knows its fields."""
        if _definition(message) in self._types:
            return self.add(message)
        short = _short(message)
        if short not in self.written:
            self.written[short] = sorted(self._struct(message, self._messages[message], outer))
        return short

    def _type(self, type: str) -> str:
        return type if type in SCALARS else self.add(type)


def _mode(field: Field, go: str) -> str:
    """How a field's values come into JSON: `filled` are left out when they are empty."""
    if field.label != "optional":
        return field.label
    return "filled" if field.type in SCALARS and not go.startswith("*") and not go.endswith("!") else "one"


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _short(message: str) -> str:
    return ".".join(message.split(".")[-3:])


def _definition(message: str) -> str:
    return "io.k8s." + message.removeprefix("k8s.io.").replace("_", "-")


def kinds(definitions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """`v1/Pod` and the message; a kind that every group has is without its version."""
    for name, schema in definitions.items():
        message = "k8s.io." + name.removeprefix("io.k8s.").replace("-", "_")
        short = name.rpartition(".")[2]
        if short in EVERYWHERE:
            yield short, message
        elif short not in NO_BODIES:
            for kind in schema.get("x-kubernetes-group-version-kind", ()):
                yield "/".join(part for part in (kind["group"], kind["version"], kind["kind"]) if part), message


def sources() -> Iterator[str]:
    """The texts of all generated.proto files."""
    where = build.modules("kube-apiserver")
    subprocess.run(["go", "mod", "download", *MODULES], cwd=where, check=True)
    command = ["go", "list", "-m", "-f", "{{.Dir}}", *MODULES]
    printed = subprocess.run(command, cwd=where, capture_output=True, text=True, check=True)
    for folder in printed.stdout.split():
        for file in sorted(Path(folder).rglob("generated.proto")):
            yield file.read_text()


def generate(texts: Iterable[str], builtins: dict[str, Any]) -> dict[str, Any]:
    messages: Messages = {}
    for text in texts:
        messages |= parsed(text)
    writing = Writing(messages, builtins["types"])
    writing.add(ENVELOPE)
    served = {kind: writing.add(message) for kind, message in kinds(builtins["definitions"])}
    return {"kinds": served, "messages": writing.written}


def main() -> int:
    builtins = json.loads((EMBEDDED / "apiserver" / "schema" / "builtins.json").read_text())
    text = json.dumps(generate(sources(), builtins), sort_keys=True, separators=(",", ":")) + "\n"
    target = EMBEDDED / "apiserver" / "protobuf" / "messages.json"
    target.write_text(text)
    print(f"{target}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
