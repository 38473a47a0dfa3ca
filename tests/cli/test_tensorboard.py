"""`traincrew tensorboard` with real pods. A stand-in for TensorBoard, an HTTP server, lists its log directory."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import signal
import urllib.request
import venv
from collections.abc import AsyncIterator

import pytest
from tests.cli.cluster_fixture import TIMEOUT_SECONDS
from tests.cli.test_real_pods import Machine
from tests.cluster.api import Api, eventually
from tests.console import tensorboard_stand_in


@pytest.fixture
async def machine(tmp_path: pathlib.Path) -> AsyncIterator[Machine]:
    found = Machine(tmp_path)
    code, _, err = await found("up", "--detach")
    assert code == 0, err
    yield found
    await found("delete", "--all", "--wait")
    await found("down", "--grace", "0")


async def start_job(machine: Machine) -> None:
    (machine.work / "runs").mkdir()
    (machine.work / "runs" / "events.out").write_text("loss")
    command = ("sh", "-c", "sleep 1000; true --logdir runs")
    variables = ("--env", f"PYTHONPATH={machine.work}", "--env", "PYTHONSAFEPATH=")
    code, _, err = await machine("run", "--detach", "--kind", "JAXJob", "--name", "j", *variables, "--", *command)
    assert code == 0, err


@contextlib.asynccontextmanager
async def shown(machine: Machine) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    process = await machine.start("tensorboard", "j", "--port", "0", "-o", "name")
    assert process.stdout is not None
    try:
        yield process, (await asyncio.wait_for(process.stdout.readline(), TIMEOUT_SECONDS)).decode().strip()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.communicate(), TIMEOUT_SECONDS)


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
        return str(response.read().decode())


def pods(machine: Machine) -> set[str]:
    return Api(machine.data / "kubeconfig").names("pods", "default")


async def test_the_log_directory_is_served_and_the_pod_ends_with_the_command(machine: Machine) -> None:
    tensorboard_stand_in.install(machine.work)
    await start_job(machine)
    async with shown(machine) as (first, url):
        assert await asyncio.to_thread(read, f"{url}events.out") == "loss"
        assert "j-tensorboard" in pods(machine)
        async with shown(machine) as (_, other):  # a second command uses the same pod
            assert await asyncio.to_thread(read, f"{other}events.out") == "loss"
        assert await asyncio.to_thread(read, f"{url}events.out") == "loss"
    assert first.returncode == 0
    await asyncio.to_thread(eventually, lambda: "j-tensorboard" not in pods(machine))
    assert "1/1" in (await machine("ls"))[1]  # the job has not noticed


async def test_a_missing_tensorboard_is_reported_with_the_command_that_installs_it(machine: Machine) -> None:
    await start_job(machine)
    machine.env["XDG_CONFIG_HOME"] = str(machine.work.parent / "config")  # without the images of the user
    code, out, err = await machine("tensorboard", "j")
    assert (code, out) == (2, "")
    assert "-m pip install tensorboard`" in err
    assert "j-tensorboard" not in pods(machine)
    environment = machine.work.parent / "boards"
    venv.create(environment, with_pip=False)
    (next(environment.glob("lib/python3*/site-packages")) / "tensorboard").mkdir()
    assert (await machine("image", "set", "boards:1", "--env-dir", str(environment), "--cluster"))[0] == 0
    assert "Use `--image boards:1`, which has it. Or install tensorboard in" in (await machine("tensorboard", "j"))[2]
