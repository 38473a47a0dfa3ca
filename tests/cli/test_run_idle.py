"""`traincrew run --elastic --idle` on one machine: the job grows into idle devices and gives them back to a pod that waits."""

from __future__ import annotations

import asyncio
import json
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.cli.test_real_pods import Machine
from tests.cluster.api import Api, eventually

from traincrew.model import naming

GPU = "nvidia.com/gpu"
TIMEOUT_SECONDS = 120
RUN = ("run", "--elastic", "1:3", "--idle", "--gpus", "1", "--name", "crowd", "--detach")
TRAIN = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\ntime.sleep(3600)\n"
TORCHRUN = "import runpy, sys\nrunpy.run_path(sys.argv[1], run_name='__main__')\n"
"""In place of the real one, which tests/seeds/test_torchrun_idle.py uses."""


@pytest.fixture
async def machine(tmp_path: pathlib.Path) -> AsyncIterator[Machine]:
    found = Machine(tmp_path)
    (found.work / "torch" / "distributed").mkdir(parents=True)
    for name, text in {
        "torch/__init__.py": "",
        "torch/distributed/__init__.py": "",
        "torch/distributed/run.py": TORCHRUN,
    }.items():
        (found.work / name).write_text(text)
    (found.work / "train.py").write_text(TRAIN)
    code, _, err = await found("up", "--detach", "--device", f"{GPU}=3", "--settle", "1")
    assert code == 0, err
    yield found
    await found("delete", "--all", "--wait")
    await found("down", "--grace", "0")


async def job(machine: Machine) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await machine("ls", "crowd", "-o", "json"))[1])["items"][0]
    return found


async def until_members(machine: Machine, members: str) -> dict[str, Any]:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            status = (await job(machine)).get("status", {})
            elastic: dict[str, Any] = status.get("elastic") or {}
            running = status.get("replicaStatuses", {}).get("Worker", {}).get("active", 0)
            if elastic.get("members") == members and running == int(elastic["workers"].partition(" ")[0]):
                return elastic
            await asyncio.sleep(0.5)


async def said(machine: Machine, *arguments: str) -> str:
    code, out, err = await machine(*arguments)
    assert code == 0, err
    return " ".join(out.split()) + "\n" if arguments[0] == "status" else out


def pods(machine: Machine) -> list[str]:
    listed = Api(machine.data / "kubeconfig").call("GET", "/api/v1/namespaces/default/pods")["items"]
    return [pod["metadata"]["name"] for pod in listed if pod["metadata"]["name"].startswith("crowd-")]


def starts_quickly(machine: Machine) -> None:
    """By default, no worker is removed in the first minute after its start: the others may wait for it in a rendezvous."""
    annotations = {naming.START_SECONDS: "1"}
    Api(machine.data / "kubeconfig").patch("pytorchjobs", "default", "crowd", {"metadata": {"annotations": annotations}})


async def claim(machine: Machine) -> None:
    container = {"name": "main", "image": "busybox", "command": ["sleep", "3600"], "resources": {"limits": {GPU: 1}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"}, "spec": {"containers": [container]}}
    (machine.work / "pod.json").write_text(json.dumps(pod))
    code, _, err = await machine("run", "--detach", "pod.json")
    assert code == 0, err


async def test_a_script_without_a_kind_grows_into_idle_devices_and_gives_them_back(machine: Machine) -> None:
    code, _, err = await machine(*RUN, "--", "python", "train.py")
    assert code == 0, err
    assert err.startswith("The job runs as a PyTorchJob with Python 3."), err
    assert "Use --kind to choose another kind.\n" in err
    await asyncio.to_thread(starts_quickly, machine)
    elastic = await until_members(machine, "0-2")
    assert (elastic["min"], elastic["wanted"], elastic["max"], elastic["surplus"]) == (1, 1, 3, 2)
    assert f"{GPU} 3: 3 requested by pods (of which 2 lent to elastic jobs), 0 free " in await said(machine, "status")
    assert "3/3 (1-3)" in await said(machine, "ls")
    await claim(machine)
    elastic = await until_members(machine, "0-1")
    # The scheduler may preempt, and bind the other pod, before the operator sees who waits.
    assert elastic["lastResize"]["message"] in (
        f"scaled from 3 to 2 workers: Pod default/other waits for 1 {GPU}",
        f"scaled from 3 to 2 workers: Pod default/other needed 1 {GPU}",
        "scaled from 3 to 2 workers: pods on idle capacity were preempted or evicted",
    )
    assert "2 (1-3) workers, idle: " in await said(machine, "why", "crowd")
    assert await said(machine, "scale", "crowd", "manual") == "pytorchjob/crowd scaling changed from idle to manual (1 worker)\n"
    await asyncio.to_thread(eventually, lambda: pods(machine) == ["crowd-worker-0"], TIMEOUT_SECONDS)
    assert "elastic" not in (await job(machine))["status"]


@pytest.mark.parametrize("kind", ["TFJob", "PaddleJob"])
async def test_a_kind_that_cannot_use_idle_capacity_is_refused_before_anything_is_created(
    kind: str, tmp_path: pathlib.Path
) -> None:
    machine = Machine(tmp_path)
    code, _, err = await machine(*RUN, "--kind", kind, "--", "python", "-c", "0")
    assert (code, err) == (2, f"error: {kind} does not support --idle. Omit --idle or use --kind PyTorchJob or MPIJob.\n")
    assert not machine.data.exists()
