"""Every field of a job's status is explained, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traincrew.validation import status_schema


def _paths(node: dict[str, Any], path: str = "") -> Iterator[str]:
    yield path
    inner = node.get("items") or node.get("additionalProperties") or node
    for name, child in inner.get("properties", {}).items():
        yield from _paths(child, f"{path}.{name}" if path else name)


def test_every_field_of_the_status_is_explained_and_nothing_that_is_none() -> None:
    assert set(_paths(status_schema.status())) == set(status_schema.STATUS)
