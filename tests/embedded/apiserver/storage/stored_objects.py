"""Keys and bodies of objects for tests of the store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from traincrew.embedded.apiserver.storage.records import Key, Record, RecordChange, SelectableFields


def describe(resource: str, value: dict[str, Any]) -> SelectableFields:
    metadata = value["metadata"]
    return SelectableFields(dict(metadata.get("labels", {})), {"metadata.name": metadata["name"]})


def pod(name: str, namespace: str = "default") -> Key:
    return Key("pods", namespace, name)


def body(key: Key, text: str = "", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": key.name, "namespace": key.namespace, "labels": labels}, "spec": {"text": text}}


def decoded(record: Record | None) -> dict[str, Any]:
    assert record
    value = json.loads(record.value)
    assert value["metadata"]["resourceVersion"] == str(record.revision)
    assert isinstance(value, dict)
    return value


def text(record: Record | None) -> str:
    return str(decoded(record)["spec"]["text"])


def event_summary(change: RecordChange) -> tuple[str, str, str, str | None]:
    """Type, name, current text and previous text."""
    return change.type, change.record.key.name, text(change.record), text(change.before) if change.before else None


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - nothing reports when a thread or another process is done
            await asyncio.sleep(0.01)
