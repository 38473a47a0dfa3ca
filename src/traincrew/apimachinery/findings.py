"""Findings: problems in a document, with their paths."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

Path = tuple[str | int, ...]
"""Keys and list indexes from the root of a document."""

Value = Any
"""A JSON value: dict, list, str, int, float, bool or None."""

_PLAIN = re.compile(r"[A-Za-z0-9_$-]+")
_PARTS = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


@dataclasses.dataclass(frozen=True)
class ManifestFinding:
    path: Path
    message: str

    def __str__(self) -> str:
        return f"{render(self.path)}: {self.message}" if self.path else self.message


def render(path: Path) -> str:
    """`spec.tfReplicaSpecs.Worker.template.spec.containers[0].image`; unusual keys are written in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int) or not _PLAIN.fullmatch(part):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def parse(text: str) -> Path:
    """The path in a violation of a kind's rule, such as `spec.tfReplicaSpecs[Worker].template.spec.containers[0].image`."""
    parts = (bracketed or plain for bracketed, plain in _PARTS.findall(text))
    return tuple(int(part) if part.isdecimal() else part for part in parts)
