"""The protocol of the shim: fragmented, malformed and unread messages."""

from __future__ import annotations

import contextlib
import json
import os
import socket

import pytest
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, execute, wait_for_exit

from traincrew.embedded import process_identity
from traincrew.embedded.kubelet.runtime import protocol, runtime, spec


def dial(shim: runtime.ShimClient) -> socket.socket:
    directory = os.open(shim.directory, os.O_PATH)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(20)
    sock.connect(f"/proc/self/fd/{directory}/shim.sock")
    os.close(directory)
    return sock


async def test_the_first_message_has_the_version(harness: ShimHarness) -> None:
    shim = await harness.pod()
    with dial(shim) as sock, sock.makefile("rb") as answers:
        hello = json.loads(answers.readline())["hello"]
    assert hello["protocol"] == spec.PROTOCOL == shim.protocol
    assert hello["pid"] == shim.pid
    assert hello["started"] == process_identity.start_time(shim.pid)
    assert hello["boot"] == process_identity.boot_id()
    assert json.loads((shim.directory / "shim.json").read_bytes()) == hello


async def test_unknown_requests_are_rejected_and_unknown_fields_ignored(harness: ShimHarness) -> None:
    shim = await harness.pod()
    with dial(shim) as sock, sock.makefile("rb") as answers:
        answers.readline()
        sock.sendall(b'{"op":"levitate","id":7}\n{"op":"states","id":8,"colour":"red"}\n{"op":"kill","id":9}\n{"id":10}\n')
        message = [json.loads(answers.readline()) for _ in range(4)]
    assert [each["id"] for each in message] == [7, 8, 9, 10]
    assert message[0]["reason"] == message[3]["reason"] == "Unknown"
    assert message[1]["states"] == {}
    assert message[2]["reason"] == "Invalid"


@pytest.mark.parametrize(
    "message",
    [
        {"op": "start", "container": "main"},
        {"op": "signal", "name": ["main"], "number": 15},
        {"op": "exec", "exec": 1, "name": "main", "argv": ["true"], "streams": ["stdin"]},
    ],
    ids=lambda message: message["op"],
)
async def test_a_request_with_fields_of_the_wrong_type_gets_an_error(harness: ShimHarness, message: protocol.Message) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000"))
    with dial(shim) as sock, sock.makefile("rb") as answers:
        answers.readline()
        sock.sendall(protocol.encode({"id": 1, **message}))
        assert json.loads(answers.readline())["reason"] == "Invalid"
        sock.sendall(protocol.encode({"id": 2, "op": "states"}))
        assert json.loads(answers.readline())["states"]["main"]["running"]


@pytest.mark.parametrize("noise", [b"\n", b"nonsense\n", b"[1]\n", b'{"op":"states","fds":3}\n', b"\xff\xfe\n"])
async def test_malformed_data_closes_the_connection_only(harness: ShimHarness, noise: bytes) -> None:
    shim = await harness.pod()
    await shim.start(harness.container("sleep", "1000"))
    with dial(shim) as sock, sock.makefile("rb") as answers:
        answers.readline()
        sock.sendall(noise)
        assert "error" in json.loads(answers.readline())
        assert answers.readline() == b""
    assert (await shim.container_statuses())["main"].running


async def test_a_request_can_arrive_byte_by_byte(harness: ShimHarness) -> None:
    shim = await harness.pod()
    with dial(shim) as sock, sock.makefile("rb") as answers:
        answers.readline()
        for byte in b'{"op":"states","id":1}\n':
            sock.send(bytes([byte]))
        assert json.loads(answers.readline()) == {"id": 1, "states": {}}


async def test_a_client_that_does_not_read_does_not_block_others(harness: ShimHarness) -> None:
    shim = await harness.pod()
    with dial(shim) as sock:
        sock.settimeout(0.2)
        with contextlib.suppress(TimeoutError, ConnectionError):
            while True:
                sock.sendall(b'{"op":"states","id":1}\n' * 1000)
        assert await shim.container_statuses() == {}


async def test_arguments_and_environment_can_be_large(harness: ShimHarness) -> None:
    shim = await harness.pod()
    env = {f"VARIABLE_{number}": "v" * 100_000 for number in range(8)}
    await shim.start(harness.shell("echo ${#VARIABLE_7}; exec sleep 1000", env=env))
    code, out, _ = await execute(shim, "sh", "-c", "echo ${#0} ${#VARIABLE_3}", "x" * 100_000)
    assert (code, out) == (0, b"100000 100000\n")


async def test_an_environment_beyond_the_limit_of_the_kernel_is_reported(harness: ShimHarness) -> None:
    shim = await harness.pod()
    with pytest.raises(runtime.StartContainerError, match="argument list too long"):
        await shim.start(harness.container("true", env={"LARGE": "v" * 3_000_000}))
    await shim.start(harness.container("true"))
    assert (await wait_for_exit(shim)).code == 0
