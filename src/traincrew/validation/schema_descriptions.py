"""Adds descriptions, which `kubectl explain` shows, to a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]


def describe(node: Schema, texts: Mapping[str, str], path: str = "") -> None:
    """In place. Texts are by path; the elements of lists and maps have the path of their list or map."""
    if path in texts:
        node["description"] = texts[path]
    inner = node.get("items") or node.get("additionalProperties") or node
    for name, child in inner.get("properties", {}).items():
        describe(child, texts, f"{path}.{name}" if path else name)
