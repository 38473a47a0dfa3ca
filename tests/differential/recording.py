"""Recorded requests of real clients as JSON lines, with the identifiers of their responses that later requests may repeat."""

from __future__ import annotations

import base64
import dataclasses
import json
import pathlib
from collections.abc import Iterator
from typing import Any

RECORDINGS = pathlib.Path(__file__).with_name("recordings")
NAMESPACE = "recorded-place"
"""The namespace of every session. A replay substitutes another name."""
HEADERS = ("accept", "content-type", "if-none-match")
BINARY = "base64:"
IDENTIFIERS = ("uid", "resourceVersion", "clusterIP", "continue", "nodePort")


@dataclasses.dataclass(frozen=True)
class RecordedEntry:
    method: str
    path: str
    body: str
    headers: dict[str, str]
    status: int
    marks: dict[str, str]
    """By their path in the response: uids, versions, generated names, addresses."""
    events: int = -1
    """Of a watch: how many events the client received. -1: no watch."""
    until: int = 0
    """Of a watch: how many entries had been written when it ended."""

    @property
    def watch(self) -> bool:
        return self.events >= 0


def write(path: pathlib.Path, entries: list[RecordedEntry]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(dataclasses.asdict(each), sort_keys=True) + "\n" for each in entries))


def read(path: pathlib.Path) -> list[RecordedEntry]:
    return [RecordedEntry(**json.loads(line)) for line in path.read_text().splitlines()]


def encode_body(body: bytes) -> str:
    """The body as text; base64 if it is not text: some clients send protobuf."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return BINARY + base64.b64encode(body).decode()


def decode_body(body: str) -> bytes | None:
    if body.startswith(BINARY):
        return base64.b64decode(body.removeprefix(BINARY))
    return body.encode() if body else None


def identifiers(response: Any) -> dict[str, str]:
    return {path: str(value) for path, value in _identifiers(response, "")}


def _identifiers(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _identifiers(each, f"{path}/{_label(each) or index}")
    elif isinstance(value, dict):
        for key, each in value.items():
            if key == "name" and value.get("generateName") and isinstance(each, str):
                yield f"{path}/name", each
            elif key in IDENTIFIERS and isinstance(each, str | int) and each not in ("", "0", "None"):
                yield f"{path}/{key}", each
            elif key != "managedFields":
                yield from _identifiers(each, f"{path}/{key}")


def _label(entry: Any) -> str:
    """The replayed list may hold other objects: an entry is identified by its name."""
    inner = entry.get("object", entry) if isinstance(entry, dict) else {}
    metadata = inner.get("metadata") if isinstance(inner, dict) else None
    return f"{metadata.get('namespace', '')}:{metadata.get('name', '')}" if isinstance(metadata, dict) else ""
