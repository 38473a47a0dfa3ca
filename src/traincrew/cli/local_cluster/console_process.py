"""The process of the console of `traincrew up`. The first line of its input is a record; it ends with its input."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import socket
import sys

import msgspec

import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
from traincrew.app import log_format
from traincrew.cli.local_cluster import console_machine
from traincrew.cli.local_cluster.console_records import ConsoleRecord
from traincrew.client import kubeconfig
from traincrew.console import links, page_files, run
from traincrew.console.settings import ConsoleTarget
from traincrew.history.database_thread import DatabaseThread


def main() -> None:
    log_format.configure("text", "warning")
    record = msgspec.json.decode(sys.stdin.buffer.readline(), type=ConsoleRecord)
    listening = socket.socket(fileno=int(sys.argv[1]))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(record, listening))


async def _serve(record: ConsoleRecord, listening: socket.socket) -> None:
    cluster = kubeconfig.load(record.kubeconfig)
    target = ConsoleTarget(
        server=cluster.server,
        namespace=cluster.namespace,
        embedded=True,
        log_root=record.log_root,
        machine=console_machine.of(pathlib.Path(record.log_root).parent),
        history=DatabaseThread(record.history, writable=False) if record.history else None,
        prometheus=os.environ.get("TRAINCREW_PROMETHEUS", ""),
    )
    known = links.Links(record.secret, {record.token})
    async with run.running(cluster, target, listening, page_files.PageFiles(), known):
        await _end_of_input()


async def _end_of_input() -> None:
    """The process of the cluster has ended, however."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


if __name__ == "__main__":
    main()
