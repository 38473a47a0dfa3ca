"""Clients that outlive the server: writers that remember acknowledged writes, a watcher that resumes at its last revision."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from typing import Any

import aiohttp
from tests.embedded.resilience.cluster_process import ClusterProcess, config_map

PATH = "/api/v1/namespaces/default/configmaps"
CONNECTION_ERRORS = (aiohttp.ClientError, OSError, TimeoutError)
OBJECTS_PER_WRITER = 3
"""A writer that has this many objects deletes the oldest."""


class Acknowledged:
    """The writes that the server has acknowledged."""

    def __init__(self) -> None:
        self.revisions: dict[int, str] = {}
        """Revision of every acknowledged write → name of its object."""
        self.present: dict[str, str] = {}
        """Name → text."""
        self.deleted: set[str] = set()
        self.rejected = 0
        """Number of responses with 503."""

    def record(self, obj: dict[str, Any], text: str) -> None:
        revision, name = int(obj["metadata"]["resourceVersion"]), obj["metadata"]["name"]
        assert revision not in self.revisions, f"revision {revision} was given twice"
        self.revisions[revision] = name
        self.present[name] = text


async def write(cluster: ClusterProcess, writer: str, seen: Acknowledged, stop: asyncio.Event) -> None:
    """Writes until `stop` is set. While the server is down, the writer tries again."""
    numbers = itertools.count()
    while not stop.is_set():
        with contextlib.suppress(*CONNECTION_ERRORS):
            async with cluster.client() as client:
                while not stop.is_set():
                    await _round(client, writer, next(numbers), seen)
        await asyncio.sleep(0.02)


async def _round(client: aiohttp.ClientSession, writer: str, number: int, seen: Acknowledged) -> None:
    """Creates one object, updates it, deletes an older one.

    A write without a response is not recorded: the server may have committed it or not.
    """
    name, old = f"{writer}-{number}", f"{writer}-{number - OBJECTS_PER_WRITER}"
    code, obj = await _send(client, "POST", PATH, config_map(name, text="created" + "x" * 1000))
    if code == 201:
        seen.record(obj, "created" + "x" * 1000)
        code, obj = await _send(client, "PATCH", f"{PATH}/{name}", json.dumps({"data": {"text": "updated"}}).encode())
        if code == 200:
            seen.record(obj, "updated")
    if code == 503:
        seen.rejected += 1
    if old in seen.present:
        text = seen.present.pop(old)
        code, obj = await _send(client, "DELETE", f"{PATH}/{old}")
        if code == 503:
            seen.present[old] = text
        elif code in (200, 404):
            seen.deleted.add(old)


async def _send(client: aiohttp.ClientSession, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    async with client.request(method, path, data=body, headers={"Content-Type": kind}) as response:
        decoded = await response.json()
        assert response.status < 400 or decoded["kind"] == "Status", decoded
        return response.status, decoded


class Watcher:
    """Receives every event of the resource from one revision on, across all restarts of the server."""

    def __init__(self, cluster: ClusterProcess, revision: int) -> None:
        self.last = revision
        self.events: dict[int, tuple[str, str]] = {}
        """Revision → type and name."""
        self.connections = 0
        self._cluster = cluster

    async def run(self) -> None:
        while True:
            with contextlib.suppress(*CONNECTION_ERRORS):
                async with self._cluster.client() as client:
                    query = {"watch": "true", "resourceVersion": str(self.last), "allowWatchBookmarks": "true"}
                    async with client.get(PATH, params=query) as response:
                        assert response.status == 200, await response.text()
                        self.connections += 1
                        async for line in response.content:
                            self._receive(line)
            await asyncio.sleep(0.02)

    def _receive(self, line: bytes) -> None:
        if not line.endswith(b"\n"):  # cut off when the server was killed
            return
        event = json.loads(line)
        assert event["type"] != "ERROR", event
        meta = event["object"]["metadata"]
        revision = int(meta["resourceVersion"])
        if event["type"] != "BOOKMARK":
            assert revision > self.last, f"{event['type']} of {revision} after {self.last}: delivered twice, or out of order"
            self.events[revision] = event["type"], meta["name"]
        self.last = max(self.last, revision)
