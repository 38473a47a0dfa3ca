"""Jobs for the page to show."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.kinds import KINDS

AT_ONCE = 32
PAUSE = 0.1
DESCRIPTION = "traincrew.kubeflow.org/description"
JAX = next(kind.resource for kind in KINDS if kind.singular == "jaxjob")
CLOCK = "import time\nwhile True:\n    print('written', time.time(), flush=True)\n    time.sleep(0.1)"
LINES = """import time
for n in range({lines}):
    print('step', n, 'loss', 2.3 / (1 + n))
print('all lines', flush=True)
time.sleep(10000)"""


def job(name: str, program: str = "", suspended: bool = False) -> dict[str, Any]:
    container = {"name": "jax", "image": "python", "command": ["python", "-c", program]}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    spec = {"runPolicy": {"suspend": suspended}, "jaxReplicaSpecs": {"Worker": worker}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": name}, "spec": spec}


def name_of(number: int) -> str:
    return f"job-{number:05}"


def _client(config: pathlib.Path) -> RemoteClient:
    return RemoteClient(kubeconfig.load(os.fspath(config)), component="bench")


async def create_jobs(config: pathlib.Path, count: int) -> None:
    """Suspended jobs: the list has them, and nothing runs."""
    async with _client(config) as client:
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with turns:
                await client.create(JAX, "default", json.dumps(job(name_of(number), suspended=True)).encode())

        await asyncio.gather(*map(one, range(count)))


async def _change(config: pathlib.Path, count: int, a_second: int, stop: threading.Event) -> None:
    """Describe job after job anew, in the order of their names."""
    at_once = max(1, round(a_second * PAUSE))
    async with _client(config) as client:
        turn = 0
        while not stop.is_set():
            body = json.dumps({"metadata": {"annotations": {DESCRIPTION: f"change {turn}"}}}).encode()
            names = [name_of((turn + each) % count) for each in range(at_once)]
            await asyncio.gather(*(client.patch(JAX, "default", name, body) for name in names), asyncio.sleep(PAUSE))
            turn += at_once


@contextmanager
def changing(config: pathlib.Path, count: int, a_second: int) -> Iterator[None]:
    """So many jobs change every second, in a thread: Playwright has an event loop in the one of the caller."""
    stop = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_change(config, count, a_second, stop)))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
