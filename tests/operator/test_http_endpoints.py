"""The HTTP endpoints of the operator hold a limited number of connections, and answer the next client."""

from __future__ import annotations

import asyncio
import os
import pathlib
import ssl

import pytest
from tests.cluster.operators import free_port
from tools.kube import certificates

from traincrew import errors
from traincrew.operator import http_endpoints
from traincrew.operator.http_endpoints import MAX_CONNECTIONS
from traincrew.serving.serving_certificate import ServingCertificate


async def _fetch(port: int, host: str = "127.0.0.1", request: bytes = b"GET /healthz") -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(request + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    async with asyncio.timeout(20):
        response = await reader.read()
    writer.close()
    return response


async def test_connections_without_a_request_do_not_keep_a_probe_from_its_answer() -> None:
    port, before = free_port(), len(os.listdir("/proc/self/fd"))
    async with http_endpoints.serve(f"127.0.0.1:{port}", http_endpoints.health_app(lambda: "", list)):
        kept = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3 * MAX_CONNECTIONS)]
        assert (await _fetch(port)).startswith(b"HTTP/1.1 200 ")
        # The clients are in this process, too.
        assert len(os.listdir("/proc/self/fd")) - before - len(kept) < MAX_CONNECTIONS + 20
        for _, writer in kept:
            writer.close()


@pytest.mark.parametrize("address", ["", "[::]"])
async def test_the_kubelet_probes_by_ipv4_and_by_ipv6(address: str) -> None:
    port = free_port()
    async with http_endpoints.serve(f"{address}:{port}", http_endpoints.health_app(lambda: "", list)):
        for host in ("127.0.0.1", "::1"):
            assert (await _fetch(port, host)).startswith(b"HTTP/1.1 200 ")
            refused = await _fetch(port, host, b"PUT /loglevel")
            assert refused.startswith(b"HTTP/1.1 400 "), "the level is missing, but the client may change it"


async def test_an_address_of_one_family_is_not_extended() -> None:
    port = free_port()
    async with http_endpoints.serve(f"0.0.0.0:{port}", http_endpoints.health_app(lambda: "", list)):
        assert (await _fetch(port)).startswith(b"HTTP/1.1 200 ")
        with pytest.raises(ConnectionRefusedError):
            await _fetch(port, "::1")


async def test_a_renewed_certificate_is_served_without_a_restart(tmp_path: pathlib.Path) -> None:
    authority, port = certificates.Authority(tmp_path), free_port()
    trusting = ssl.create_default_context(cafile=authority.path)
    secret = tmp_path / "tls"
    secret.mkdir()
    mount(secret, authority, "first")
    served = ServingCertificate.in_directory(str(secret))._replace(look_seconds=0.01)
    async with http_endpoints.serve(f"127.0.0.1:{port}", http_endpoints.health_app(lambda: "", list), served):
        assert await subject(port, trusting) == "first"
        mount(secret, authority, "second")
        async with asyncio.timeout(20):
            while await subject(port, trusting) != "second":
                pass


def mount(secret: pathlib.Path, authority: certificates.Authority, name: str) -> None:
    """As the kubelet does: the link to the data is replaced."""
    data = secret / f"..{name}"
    data.mkdir()
    for path, file in zip(authority.server(name), ("tls.crt", "tls.key"), strict=True):
        path.rename(data / file)
        if not (secret / file).is_symlink():
            (secret / file).symlink_to(f"..data/{file}")
    (secret / "..new").symlink_to(data.name)
    (secret / "..new").rename(secret / "..data")


async def subject(port: int, trusting: ssl.SSLContext) -> str:
    """The name in the certificate that a new client is shown."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
    shown = writer.get_extra_info("peercert")
    writer.close()
    return str(dict(pair for group in shown["subject"] for pair in group)["commonName"])


async def test_certificate_files_that_cannot_be_read_are_named(tmp_path: pathlib.Path) -> None:
    missing = ServingCertificate.in_directory(str(tmp_path))
    with pytest.raises(errors.SettingsError, match=f"cannot use {tmp_path}/tls.crt and {tmp_path}/tls.key: No such file"):
        async with http_endpoints.serve(f"127.0.0.1:{free_port()}", http_endpoints.health_app(lambda: "", list), missing):
            pass
