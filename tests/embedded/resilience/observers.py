"""Clients that outlive the server: writers that remember what was acknowledged, a watcher that goes on where it was."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from typing import Any

import aiohttp
from tests.embedded.resilience.clusters import Process, config_map

PATH = "/api/v1/namespaces/default/configmaps"
GONE = (aiohttp.ClientError, OSError, TimeoutError)
KEPT = 3
"""So many of its objects a writer leaves, before it deletes the oldest."""


class Acknowledged:
    """What the server said that it has kept."""

    def __init__(self) -> None:
        self.revisions: dict[int, str] = {}
        """Of every write that was answered, with the name of its object."""
        self.present: dict[str, str] = {}
        """Name → text."""
        self.deleted: set[str] = set()
        self.refused = 0
        """Answers of 503."""

    def note(self, found: dict[str, Any], text: str) -> None:
        revision, name = int(found["metadata"]["resourceVersion"]), found["metadata"]["name"]
        assert revision not in self.revisions, f"revision {revision} was given twice"
        self.revisions[revision] = name
        self.present[name] = text


async def write(cluster: Process, writer: str, seen: Acknowledged, stop: asyncio.Event) -> None:
    """Until told to stop; a server that is away is asked again."""
    numbers = itertools.count()
    while not stop.is_set():
        with contextlib.suppress(*GONE):
            async with cluster.client() as client:
                while not stop.is_set():
                    await _round(client, writer, next(numbers), seen)
        await asyncio.sleep(0.02)


async def _round(client: aiohttp.ClientSession, writer: str, number: int, seen: Acknowledged) -> None:
    """Makes one object, changes it, deletes an older one. What gets no answer is not noted: it may be there or not."""
    name, old = f"{writer}-{number}", f"{writer}-{number - KEPT}"
    code, found = await _asked(client, "POST", PATH, config_map(name, text="made" + "x" * 1000))
    if code == 201:
        seen.note(found, "made" + "x" * 1000)
        code, found = await _asked(client, "PATCH", f"{PATH}/{name}", json.dumps({"data": {"text": "changed"}}).encode())
        if code == 200:
            seen.note(found, "changed")
    if code == 503:
        seen.refused += 1
    if old in seen.present:
        text = seen.present.pop(old)
        code, found = await _asked(client, "DELETE", f"{PATH}/{old}")
        if code == 503:
            seen.present[old] = text
        elif code in (200, 404):
            seen.deleted.add(old)


async def _asked(client: aiohttp.ClientSession, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    async with client.request(method, path, data=body, headers={"Content-Type": kind}) as answer:
        found = await answer.json()
        assert answer.status < 400 or found["kind"] == "Status", found
        return answer.status, found


class Watcher:
    """Every event of the resource from one revision on, across all ends of the server."""

    def __init__(self, cluster: Process, revision: int) -> None:
        self.last = revision
        self.events: dict[int, tuple[str, str]] = {}
        """Revision → type and name."""
        self.connections = 0
        self._cluster = cluster

    async def run(self) -> None:
        while True:
            with contextlib.suppress(*GONE):
                async with self._cluster.client() as client:
                    query = {"watch": "true", "resourceVersion": str(self.last), "allowWatchBookmarks": "true"}
                    async with client.get(PATH, params=query) as answer:
                        assert answer.status == 200, await answer.text()
                        self.connections += 1
                        async for line in answer.content:
                            self._take(line)
            await asyncio.sleep(0.02)

    def _take(self, line: bytes) -> None:
        if not line.endswith(b"\n"):  # cut off when the server was killed
            return
        event = json.loads(line)
        assert event["type"] != "ERROR", event
        meta = event["object"]["metadata"]
        revision = int(meta["resourceVersion"])
        if event["type"] != "BOOKMARK":
            assert revision > self.last, f"{event['type']} of {revision} after {self.last}: told twice, or out of order"
            self.events[revision] = event["type"], meta["name"]
        self.last = max(self.last, revision)
