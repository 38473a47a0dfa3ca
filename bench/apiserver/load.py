"""The client, in a process of its own so that what it spends is not the server's.

python -m bench.apiserver.load TASK KUBECONFIG ARGUMENTS
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec
import uvloop

from bench.apiserver import bodies
from bench.apiserver.http_client import Address, Connection, address

PODS = "/api/v1/namespaces/{}/pods"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
GROUPS = 20

Request = tuple[str, str, bytes, str]


async def rate(where: Address, connections: int, requests: Iterable[Request]) -> float:
    """Requests a second, by so many connections with one request at a time each."""
    work = list(requests)
    left = iter(work)

    async def one(connection: Connection) -> None:
        for method, path, body, content in left:
            answer = await connection.request(method, path, body, content)
            if answer.status >= 300:
                raise RuntimeError(f"{method} {path}: {answer.status} {answer.body[:500]!r}")

    wires = [Connection(where) for _ in range(connections)]
    try:
        await asyncio.gather(*(connection.__aenter__() for connection in wires))
        started = time.perf_counter()
        await asyncio.gather(*(one(connection) for connection in wires))
        return len(work) / (time.perf_counter() - started)
    finally:
        await asyncio.gather(*(connection.__aexit__() for connection in wires))


async def namespace(where: Address, name: str) -> None:
    async with Connection(where) as connection:
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        await connection.request("POST", "/api/v1/namespaces", body)


async def creates(where: Address, place: str, connections: int, count: int, owned: bool = True) -> dict[str, float]:
    await namespace(where, place)
    path = PODS.format(place)
    pods = (bodies.pod(f"p{each:06d}", f"g{each % GROUPS}", owned) for each in range(count))
    created = (("POST", path, pod, "application/json") for pod in pods)
    return {"count": count, "rate": await rate(where, connections, created)}


async def patches(where: Address, place: str, connections: int, count: int, form: str = MERGE, turn: int = 1) -> dict[str, float]:
    path, body = PODS.format(place), bodies.status(turn)
    created = (("PATCH", f"{path}/p{each:06d}/status", body, form) for each in range(count))
    return {"count": count, "rate": await rate(where, connections, created)}


async def gets(where: Address, place: str, connections: int, count: int) -> dict[str, float]:
    path = PODS.format(place)
    return {"rate": await rate(where, connections, (("GET", f"{path}/p{each:06d}", b"", "") for each in range(count)))}


async def lists(where: Address, place: str, form: str, times: int) -> dict[str, float]:
    """Seconds for one, the best of so many: a list is long enough for others' work to fall into it."""
    path = PODS.format(place)
    took, size = [], 0
    async with Connection(where) as connection:
        for _ in range(times):
            started = time.perf_counter()
            if form == "pages":
                size = await _paged(connection, path)
            else:
                selected = "?labelSelector=group%3Dg1" if form == "label" else ""
                answer = await connection.request("GET", path + selected, accept=TABLE if form == "table" else "")
                size = len(answer.body)
            took.append(time.perf_counter() - started)
    return {"seconds": min(took), "bytes": size}


class _Meta(msgspec.Struct, rename={"continued": "continue"}):
    continued: str = ""


class _Page(msgspec.Struct):
    metadata: _Meta


async def _paged(connection: Connection, path: str) -> int:
    size, continued = 0, ""
    while True:
        answer = await connection.request("GET", f"{path}?limit=500&continue={continued}")
        size += len(answer.body)
        continued = msgspec.json.decode(answer.body, type=_Page).metadata.continued
        if not continued:
            return size


async def count(where: Address) -> dict[str, float]:
    """How many pods there are in all."""
    async with Connection(where) as connection:
        answer = await connection.request("GET", "/api/v1/pods?limit=1")
        return {"pods": json.loads(answer.body)["metadata"].get("remainingItemCount", 0) + 1}


class Counter:
    """Counts the events of a watch: lines of JSON, which has no line ends within."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.seen, self._last = connection, 0, b""

    async def until(self, count: int) -> None:
        while self.seen < count:
            data = await self.connection.bytes()
            if not data:
                raise RuntimeError("a watch ended")
            # The marks of chunks end in CR LF; an event ends in LF.
            self.seen += data.count(b"\n") - data.count(b"\r\n") - (self._last == b"\r" and data[:1] == b"\n")
            self._last = data[-1:]


async def fanout(where: Address, place: str, watchers: int, count: int) -> dict[str, float]:
    """Events a second, counted once each, from the first write until every watcher has got the last."""
    await namespace(where, place)
    counters = [Counter(await watching(where, place)) for _ in range(watchers)]
    started = time.perf_counter()
    seen = asyncio.gather(*(each.until(count) for each in counters))
    await creates(where, place, 16, count)
    await seen
    return {"rate": count / (time.perf_counter() - started)}


async def watching(where: Address, place: str) -> Connection:
    connection = await Connection(where).__aenter__()
    listed = await connection.request("GET", f"{PODS.format(place)}?limit=1")
    version = json.loads(listed.body)["metadata"]["resourceVersion"]
    connection.send("GET", f"{PODS.format(place)}?watch=true&resourceVersion={version}")
    status, _ = await connection.read_headers()
    if status != 200:
        raise RuntimeError(f"watch: {status}")
    return connection


async def latency(where: Address, place: str, count: int, per_second: int) -> dict[str, float]:
    """Milliseconds from sending a create to having its event."""
    await namespace(where, place)
    counter = Counter(await watching(where, place))
    took = []
    async with Connection(where) as connection:
        for each in range(count):
            started = time.perf_counter()
            answer = asyncio.ensure_future(connection.request("POST", PODS.format(place), bodies.pod(f"p{each:06d}", "g")))
            await counter.until(each + 1)
            took.append((time.perf_counter() - started) * 1000)
            await answer
            await asyncio.sleep(1 / per_second)
    took.sort()
    return {"p50": took[len(took) // 2], "p99": took[int(len(took) * 0.99)]}


TASKS: dict[str, Callable[..., Awaitable[dict[str, float]]]] = {
    "creates": creates, "patches": patches, "gets": gets, "lists": lists, "fanout": fanout, "latency": latency, "count": count,
}  # fmt: skip


async def main(task: str, path: str, arguments: list[Any]) -> None:
    where = await address(pathlib.Path(path))
    spent = time.process_time()
    results = await TASKS[task](where, *arguments)
    print(json.dumps({**results, "client_cpu": time.process_time() - spent}))


def start(words: list[str]) -> None:
    uvloop.run(main(words[0], words[1], [json.loads(each) for each in words[2:]]))


if __name__ == "__main__":
    start(sys.argv[1:])
