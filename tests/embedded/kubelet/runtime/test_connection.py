"""Connections to a peer that closes them with requests unread, on every event loop that the daemon may use."""

from __future__ import annotations

import asyncio
import json
import pathlib
import socket
from collections.abc import Callable

import pytest
import uvloop

from traincrew.embedded.kubelet.runtime import protocol, runtime

EVENT_LOOPS = pytest.mark.parametrize(
    "new_event_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)


@EVENT_LOOPS
def test_a_shim_that_exits_with_a_request_unread_is_gone(
    new_event_loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: pathlib.Path
) -> None:
    """As when the usage of a pod is read while its sandbox is being stopped."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_stop_while_usage_is_read(tmp_path))


async def _stop_while_usage_is_read(directory: pathlib.Path) -> None:
    ours, theirs = socket.socketpair()
    shim = runtime.ShimClient(ours, directory)
    stopped, usage = asyncio.create_task(shim.stop()), asyncio.create_task(shim.usage())
    await asyncio.sleep(0)  # both requests are sent
    request = b""
    while not request.endswith(b"\n"):
        request += theirs.recv(1)
    theirs.sendall(protocol.encode({"id": json.loads(request)["id"]}))
    theirs.close()
    async with asyncio.timeout(30):
        await stopped
        with pytest.raises(runtime.ShimGone):
            await usage
