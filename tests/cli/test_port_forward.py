"""`traincrew port-forward`."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import signal
from collections.abc import AsyncIterator

import pytest
from tests.cli.cluster_fixture import TIMEOUT_SECONDS, JobCluster, write_manifests
from tests.cluster import manifests

from traincrew import errors
from traincrew.cli.jobs import port_forward

JOB = manifests.job("PyTorchJob", Master=1)


@contextlib.asynccontextmanager
async def upper_case_server() -> AsyncIterator[int]:
    async def answer_line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line.upper())
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer_line, "127.0.0.1", 0, limit=1 << 20) as server:
        yield server.sockets[0].getsockname()[1]


async def test_connections_are_forwarded_until_an_interrupt(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, JOB))
    await job_cluster.run("j-master-0")
    async with upper_case_server() as port:
        job_cluster.runtime.ports["j-master-0", 8080] = port
        running = await job_cluster.start("port-forward", "j", ":8080", ":8081")
        line = await running.line()
        assert line.endswith(" -> 8080 of pod j-master-0\n")
        local = int(line.split(":")[1].split()[0])
        for text in (b"first\n", b"second" * 100_000 + b"\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", local, limit=1 << 20)
            writer.write(text)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                assert await reader.readline() == text.upper()
            writer.close()
        closed = int((await running.line()).split(":")[1].split()[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", closed)
        assert await asyncio.wait_for(reader.read(), TIMEOUT_SECONDS) == b""
        writer.close()
        assert "cannot forward to port 8081 of pod j-master-0" in await running.wait_for("8081")
        running.process.send_signal(signal.SIGINT)
        assert (await running.end())[0] == 0


async def test_a_port_in_use_is_an_error_with_a_remedy(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, JOB))
    await job_cluster.run("j-master-0")
    async with upper_case_server() as port:
        code, _, err = await job_cluster("port-forward", "j", f"{port}:8080")
    assert code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in err
    assert "such as :8080 for any free port" in err


@pytest.mark.parametrize(("text", "local", "remote"), [("80", 80, 80), ("8080:80", 8080, 80), (":80", 0, 80)])
def test_port_mappings_are_those_of_kubectl(text: str, local: int, remote: int) -> None:
    assert port_forward.parse_mapping(text) == port_forward.PortMapping(local, remote)


@pytest.mark.parametrize("text", ["", "x", "80:", "1:2:3", "70000", "80:0", "-1:80"])
def test_an_invalid_port_is_rejected(text: str) -> None:
    with pytest.raises(errors.SettingsError, match="LOCAL:REMOTE"):
        port_forward.parse_mapping(text)
