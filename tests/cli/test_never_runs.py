"""`traincrew run` of jobs that can never run on this machine: it ends with the reason and deletes the job."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cli.cluster_fixture import TIMEOUT_SECONDS, write_manifests
from tests.cli.test_real_pods import Machine
from tests.cluster import manifests


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    found = Machine(tmp_path_factory.mktemp("never-runs"))
    code, _, err = asyncio.run(found("up", "--detach", "--device", "nvidia.com/gpu=2"))
    assert code == 0, err
    yield found
    asyncio.run(found("delete", "--all", "--wait"))
    asyncio.run(found("down", "--grace", "0"))


def manifest(machine: Machine, container: dict[str, Any] | None = None, **spec: Any) -> str:
    containers = [{"name": "jax", "image": "a/b:1", "command": ["true"], **(container or {})}]
    document = manifests.job("JAXJob", "j", Worker={"replicas": 1, "template": {"spec": {"containers": containers, **spec}}})
    return write_manifests(machine.work, document)


async def assert_ends_with(machine: Machine, reason: str, *arguments: str) -> None:
    code, _, err = await machine("run", *arguments)
    assert code == 1, err
    assert f"jaxjob/j can never run here: {reason}" in err
    assert "Use --wait-forever to wait nevertheless." in err
    assert "Deleting jaxjob/j" in err
    assert json.loads((await machine("ls", "-o", "json"))[1])["items"] == []


async def test_more_gpus_than_the_machine_has(machine: Machine) -> None:
    command = ("--kind", "JAXJob", "--name", "j", "--gpus", "3", "--", "true")
    await assert_ends_with(machine, "a pod needs 3 nvidia.com/gpu, and the node has 2", *command)


async def test_more_gpus_together_than_the_machine_has(machine: Machine) -> None:
    # Workers that end at once would leave their devices to the third.
    command = ("--kind", "JAXJob", "--name", "j", "--workers", "3", "--gpus", "1", "--", "sleep", "3600")
    await assert_ends_with(machine, "the pods need 3 nvidia.com/gpu together, and the node has 2", *command)


async def test_a_node_selector_that_nothing_satisfies(machine: Machine) -> None:
    path = manifest(machine, nodeSelector={"zone": "elsewhere"})
    reason = "no node has the labels that pod j-worker-0 requires (nodeSelector or node affinity)"
    await assert_ends_with(machine, reason, path)


@pytest.mark.skipif(os.geteuid() != 0, reason="runAsUser of another user needs root")
async def test_an_environment_that_the_user_of_the_container_may_not_enter(machine: Machine, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "home" / "env" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    (tmp_path / "home").chmod(0o700)
    code, _, err = await machine("image", "set", "closed/env", "--env-dir", os.fspath(program.parent.parent), "--cluster")
    assert code == 0, err
    path = manifest(machine, {"image": "closed/env:1", "command": ["python", "-V"], "securityContext": {"runAsUser": 4711}})
    await assert_ends_with(machine, "container jax of pod j-worker-0: user 4711 (runAsUser) may not use", path)


async def test_wait_forever_waits_and_says_why(machine: Machine) -> None:
    process = await machine.start("run", "--wait-forever", manifest(machine, nodeSelector={"zone": "elsewhere"}))
    assert process.stderr is not None
    async with asyncio.timeout(2 * TIMEOUT_SECONDS):
        while b"didn't match Pod's node affinity/selector" not in (line := await process.stderr.readline()):
            assert line, "run has ended"
    assert json.loads((await machine("ls", "-o", "json"))[1])["items"] != []
    assert "nodeSelector and affinity" in (await machine("why", "j"))[1]
    assert process.returncode is None
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(2 * TIMEOUT_SECONDS):
        _, err = await process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert b"can never run here" not in err
