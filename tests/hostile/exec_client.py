"""Runs a command in a container through the API server, as kubectl does."""

from __future__ import annotations

import asyncio
import json
import ssl

import aiohttp
from tests.node.local_cluster import LocalCluster

_STDOUT, _ERROR = 1, 3
_SECONDS = 60.0
_TLS_SHUTDOWN = 0.25
"""aiohttp closes connections with TLS in the background. Its documentation advises this pause before the event loop ends."""


def execute(cluster: LocalCluster, pod: str, *command: str) -> str:
    """The standard output. Fails if the command does."""
    return asyncio.run(_execute(cluster, pod, command))


async def _execute(cluster: LocalCluster, pod: str, command: tuple[str, ...]) -> str:
    query = [("stdout", "1"), *(("command", each) for each in command)]
    url = f"{cluster.api.server}{cluster.api.path('pods', 'default', pod, 'exec')}"
    trust = ssl.create_default_context(cafile=str(cluster.api.session.verify))
    headers = {"Authorization": str(cluster.api.session.headers["Authorization"])}
    received: dict[int, bytes] = {_STDOUT: b"", _ERROR: b""}
    async with asyncio.timeout(_SECONDS), aiohttp.ClientSession() as session:
        opened = session.ws_connect(url, params=query, headers=headers, protocols=["v5.channel.k8s.io"], ssl=trust)
        async with opened as websocket:
            async for message in websocket:
                if message.type is aiohttp.WSMsgType.BINARY and message.data[0] in received:
                    received[message.data[0]] += message.data[1:]
    await asyncio.sleep(_TLS_SHUTDOWN)
    status = json.loads(received[_ERROR] or b"{}")
    assert status.get("status") == "Success", (status, received)
    return received[_STDOUT].decode()
