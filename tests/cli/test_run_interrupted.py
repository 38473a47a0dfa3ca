"""`traincrew run` that is interrupted at any time: what it created is deleted, and it says so."""

from __future__ import annotations

import asyncio
import pathlib
import signal

import pytest
from tests.cli.cluster_fixture import JobCluster, write_manifests
from tests.cluster import manifests

STEPS = 10
"""Moments between the start of the command and half as long again as it takes until the job is created."""


def _job(name: str) -> dict[str, object]:
    job = manifests.job("PyTorchJob", Master=1)
    job["metadata"]["name"] = name
    return job


async def _seconds_until_created(job_cluster: JobCluster, directory: pathlib.Path) -> float:
    loop = asyncio.get_running_loop()
    before = loop.time()
    running = await job_cluster.start("run", write_manifests(directory, _job("measured"), name="measured.yaml"))
    await running.wait_for("created")
    taken = loop.time() - before
    running.process.send_signal(signal.SIGTERM)
    await running.end()
    return taken


async def test_nothing_is_left_whenever_the_signal_arrives(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    taken = await _seconds_until_created(job_cluster, tmp_path)
    deleted = 0
    for step in range(1, STEPS + 1):
        name, number = f"j{step}", signal.SIGTERM if step % 2 else signal.SIGINT
        running = await job_cluster.start("run", write_manifests(tmp_path, _job(name), name=f"{name}.yaml"))
        await asyncio.sleep(taken * 1.5 * step / STEPS)
        running.process.send_signal(number)
        code, _, err = await running.end()
        # Python itself ends by the signal before the command begins.
        assert code in (128 + number, -number), (step, err)
        assert (f"pytorchjob/{name} created" in err) == (f"Deleting pytorchjob/{name}." in err), (step, err)
        assert await job_cluster.do(job_cluster.job, name) is None, (step, err)
        deleted += "Deleting" in err
    assert deleted, "no signal arrived after the creation"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_right_after_the_creation_deletes_the_job(
    job_cluster: JobCluster, tmp_path: pathlib.Path, number: signal.Signals
) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, _job("j")))
    await job_cluster.until(job_cluster.job)
    running.process.send_signal(number)
    code, _, err = await running.end()
    assert code == 128 + number
    assert "Deleting pytorchjob/j." in err
    assert await job_cluster.do(job_cluster.job) is None


async def test_a_further_signal_ends_the_wait_for_terminating_pods(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, _job("j")))
    await job_cluster.run("j-master-0")
    running.process.send_signal(signal.SIGTERM)
    await running.wait_for("Deleting pytorchjob/j.")
    running.process.send_signal(signal.SIGTERM)  # the pod is bound, and no kubelet confirms its deletion
    code, _, err = await running.end()
    assert code == 128 + signal.SIGTERM
    assert "still terminating" in err
