"""`traincrew exec`, with and without a terminal."""

from __future__ import annotations

import asyncio
import os
import pathlib

import pytest
from tests.cli.cluster_fixture import TIMEOUT_SECONDS, JobCluster, write_manifests
from tests.cli.test_interrupts import typed, until
from tests.cluster import manifests

from traincrew.cli.jobs import exec_terminal
from traincrew.client import exec_websocket


@pytest.fixture
async def running_job(job_cluster: JobCluster, tmp_path: pathlib.Path) -> JobCluster:
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1, Worker=1)))
    await job_cluster.run("j-master-0", "j-worker-0")
    return job_cluster


async def test_stdout_stderr_and_exit_code_are_those_of_the_command(running_job: JobCluster) -> None:
    script = "echo out; echo err >&2; exit 3"
    assert await running_job("exec", "j", "--", "sh", "-c", script) == (3, "out\n", "err\n")


async def test_a_replica_is_selected_by_name(running_job: JobCluster) -> None:
    where = running_job.container("j-worker-0").directory
    assert await running_job("exec", "j", "--replica", "worker-0", "--", "pwd") == (0, f"{where}\n", "")


async def test_standard_input_is_passed_to_its_end(running_job: JobCluster) -> None:
    content = os.urandom(3_000_000).hex().encode()
    code, out, err = await running_job("exec", "j", "-i", "--", "cat", input=content)
    assert (code, out.encode() == content, err) == (0, True, "")


async def test_standard_input_may_be_a_file(running_job: JobCluster, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"x" * 100_000)
    with path.open("rb") as file:
        process = await asyncio.create_subprocess_exec(
            *running_job.command("exec", "j", "-i", "--", "wc", "-c"),
            env=running_job.environment(),
            stdin=file,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await asyncio.wait_for(process.communicate(), TIMEOUT_SECONDS)
    assert (process.returncode, out.strip()) == (0, b"100000")


async def test_a_missing_command_is_an_error_of_one_line(running_job: JobCluster) -> None:
    code, out, err = await running_job("exec", "j", "--", "no-such-program")
    assert (code, out) == (127, "")
    assert err == "error: no-such-program: not found in container pytorch of pod j-master-0\n"


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ('exec: "x": executable file not found in $PATH: unknown', 127),
        ('exec: "./x": stat ./x: no such file or directory', 127),
        ('exec: "/etc/passwd": permission denied', 126),
        ("container not found", None),
    ],
)
def test_a_command_that_could_not_start_has_the_exit_code_of_a_shell(reason: str, code: int | None) -> None:
    assert exec_terminal.start_failure(f"Internal error occurred: OCI runtime exec failed: {reason}") == code


async def test_a_replica_that_is_not_running_is_an_error(running_job: JobCluster) -> None:
    await running_job.succeed("j-worker-0")
    code, _, err = await running_job("exec", "j", "--replica", "worker-0", "--", "true")
    assert (code, "worker-0 (Succeeded)" in err) == (2, True)
    code, _, err = await running_job("exec", "j", "--replica", "worker-9", "--", "true")
    assert (code, "Its replicas: master-0, worker-0" in err) == (2, True)


async def test_the_command_gets_a_terminal_of_the_same_size(running_job: JobCluster) -> None:
    running = await running_job.in_terminal("exec", "j", "--", "sh")
    running.resize(101, 37)
    await typed(running, "stty size; tty >/dev/null && echo is-$((1+1))-terminal\n")
    assert "37 101" in await until(running, "is-2-terminal")
    await typed(running, "until stty size | grep -q '44 99'; do sleep 0.1; done; echo resized-$((1+1))-times\n")
    running.resize(99, 44)
    await until(running, "resized-2-times")
    await typed(running, "sh -c 'echo asleep-$((1+1)); exec sleep 1000'\n")
    await until(running, "asleep-2")
    await typed(running, "\x03")  # goes to the command, not to us
    await until(running, "^C")  # what was typed before a terminal has seen it is thrown away
    await typed(running, "echo still-$((1+1))-here; exit 7\n")
    await until(running, "still-2-here")
    assert await asyncio.wait_for(running.wait(), TIMEOUT_SECONDS) == 7


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b'{"status":"Success"}', 0),
        (b'{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"42"}]}}', 42),
    ],
)
def test_the_exit_code_is_read_from_the_status(raw: bytes, code: int) -> None:
    assert exec_websocket.exit_code(raw) == code
