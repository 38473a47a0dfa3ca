"""Message descriptors from Kubernetes' .proto files (messages.json), loaded on first use."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Callable
from typing import Any

import msgspec

from traincrew.embedded.apiserver.protobuf import well_known_types

ENVELOPE = "pkg.runtime.Unknown"

Row = tuple[int, str, str, str]
"""Number, name in JSON, mode, type. Modes: one; filled (omitted if empty); repeated; map (from strings to the type); inline
(its fields belong to the enclosing message)."""


class Field:
    __slots__ = ("form", "kept", "mode", "name", "plain", "type")

    def __init__(self, row: Row, message: MessageType | None) -> None:
        _, self.name, self.mode, self.type = row
        self.form = message
        """The message type of a value; None for strings, numbers, booleans and bytes."""
        self.kept = self.mode == "one"
        """Written even if empty."""
        self.plain = self.type == "string" and self.mode in ("one", "filled")
        """A single string, the most frequent type."""


class MessageType:
    __slots__ = ("fields", "finish", "name")

    def __init__(self, name: str) -> None:
        self.name = name.rpartition(".")[2]
        self.fields: dict[int, Field] = {}
        """By number."""
        self.finish: Callable[[dict[str, Any]], Any] | None = well_known_types.FORMS.get(name)


class Catalog(msgspec.Struct):
    kinds: dict[str, str]
    """`v1/Pod` → message; without a version if every group has the kind."""
    messages: dict[str, list[Row]]
    built: dict[str, MessageType] = {}

    def kind(self, api_version: str, kind: str) -> MessageType | None:
        name = self.kinds.get(f"{api_version}/{kind}") or self.kinds.get(kind)
        return self.message(name) if name else None

    def message(self, name: str) -> MessageType:
        message = self.built.get(name)
        if message is None:
            # Registered before its fields: a message may contain itself.
            message = self.built[name] = MessageType(name)
            for row in self.messages[name]:
                inner = self.message(row[3]) if row[3] in self.messages else None
                message.fields[row[0]] = Field(row, inner)
        return message


@functools.cache
def load() -> Catalog:
    content = importlib.resources.files(__package__).joinpath("messages.json").read_bytes()
    return msgspec.json.decode(content, type=Catalog)
