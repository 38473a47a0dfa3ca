"""The shutdown of the kubelet's HTTPS server: no connection outlives it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop
from tests.embedded.kubelet.server.nodes import TOKEN, Node
from tests.embedded.kubelet.server.process_runtime import ProcessRuntime
from tools.kube import certificates

from traincrew.embedded.kubelet.server import server

ESTABLISHED, CLOSE_WAIT = 1, 8
"""States of Linux's TCP."""


def _state(connection: socket.socket) -> int:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


def _connect(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Returns a connection that has been used and is kept alive."""
    connection = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=60), server_hostname="127.0.0.1")
    connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    received = b""
    while not received.endswith(b"ok"):
        received += connection.recv(1 << 16)
    return connection


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_connections_of_clients_that_do_not_respond_are_closed(
    runtime: ProcessRuntime, authority: certificates.Authority, run: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    run(_leave_a_silent_client(runtime, authority))


async def _leave_a_silent_client(runtime: ProcessRuntime, authority: certificates.Authority) -> None:
    certificate, key = authority.server("kubelet")
    context = server.tls(str(certificate), str(key))
    app = server.application(runtime, server.KubeletAuth(TOKEN))
    async with server.serve(app, "127.0.0.1", 0, context) as port:
        silent = await asyncio.to_thread(_connect, port, Node(runtime, port, authority).ssl)
        assert _state(silent) == ESTABLISHED
    with silent:
        assert _state(silent) == CLOSE_WAIT
