"""Fixtures: the endpoints of a kubelet over real processes, and an HTTP client."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator

import aiohttp
import pytest
from tests.embedded.kubelet.server.nodes import TOKEN, Node
from tests.embedded.kubelet.server.process_runtime import ProcessRuntime
from tools.kube import certificates

from traincrew.embedded.kubelet.server import server


@pytest.fixture
def runtime(tmp_path: pathlib.Path) -> ProcessRuntime:
    runtime = ProcessRuntime(tmp_path / "containers")
    runtime.add("ns", "pod", "main")
    return runtime


@pytest.fixture
def authority(tmp_path: pathlib.Path) -> certificates.Authority:
    return certificates.Authority(tmp_path)


@pytest.fixture
async def node(runtime: ProcessRuntime, authority: certificates.Authority) -> AsyncIterator[Node]:
    certificate, key = authority.server("kubelet")
    context = server.tls(str(certificate), str(key), str(authority.path))
    async with server.serve(server.application(runtime, server.KubeletAuth(TOKEN)), "127.0.0.1", 0, context) as port:
        yield Node(runtime, port, authority)


@pytest.fixture
async def client(node: Node) -> AsyncIterator[aiohttp.ClientSession]:
    """An authenticated client."""
    connector = aiohttp.TCPConnector(ssl=node.ssl)
    async with aiohttp.ClientSession(node.url, connector=connector, headers=node.headers) as session:
        yield session
