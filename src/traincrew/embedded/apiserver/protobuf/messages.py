"""What messages consist of, as messages.json has it from Kubernetes' .proto files. Each is made ready when it is first met."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Callable
from typing import Any

import msgspec

from traincrew.embedded.apiserver.protobuf import well_known_types

ENVELOPE = "pkg.runtime.Unknown"

Row = tuple[int, str, str, str]
"""Number, name in JSON, mode, type. Modes: one; filled (left out when it is empty); repeated; map (of texts to the type); inline
(its fields stand among those around it)."""


class Field:
    __slots__ = ("form", "kept", "mode", "name", "plain", "type")

    def __init__(self, row: Row, message: Message | None) -> None:
        _, self.name, self.mode, self.type = row
        self.form = message
        """What a value is made of; None for texts, numbers, booleans and bytes."""
        self.kept = self.mode == "one"
        """Written even when it is empty."""
        self.plain = self.type == "string" and self.mode in ("one", "filled")
        """A single text, which most fields are."""


class Message:
    __slots__ = ("fields", "finish", "name")

    def __init__(self, name: str) -> None:
        self.name = name.rpartition(".")[2]
        self.fields: dict[int, Field] = {}
        """By number."""
        self.finish: Callable[[dict[str, Any]], Any] | None = well_known_types.FORMS.get(name)


class Catalog(msgspec.Struct):
    kinds: dict[str, str]
    """`v1/Pod` → message; without a version where every group has the kind."""
    messages: dict[str, list[Row]]
    made: dict[str, Message] = {}

    def kind(self, api_version: str, kind: str) -> Message | None:
        name = self.kinds.get(f"{api_version}/{kind}") or self.kinds.get(kind)
        return self.message(name) if name else None

    def message(self, name: str) -> Message:
        made = self.made.get(name)
        if made is None:
            # Known before its fields are: a message may contain itself.
            made = self.made[name] = Message(name)
            for row in self.messages[name]:
                inner = self.message(row[3]) if row[3] in self.messages else None
                made.fields[row[0]] = Field(row, inner)
        return made


@functools.cache
def load() -> Catalog:
    found = importlib.resources.files(__package__).joinpath("messages.json").read_bytes()
    return msgspec.json.decode(found, type=Catalog)
