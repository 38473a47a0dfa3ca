"""Ctrl-C on a terminal: the first asks, the second deletes."""

from __future__ import annotations

import asyncio
import pathlib

from tests.cli.cluster_fixture import TIMEOUT_SECONDS, JobCluster, write_manifests
from tests.cluster import manifests
from tests.embedded.kubelet.server.process_runtime import ProcessSession

JOB = manifests.job("PyTorchJob", Master=1)
QUESTION = "Delete pytorchjob/j? [Y/n/detach]"


async def until(running: ProcessSession, text: str) -> str:
    assert running.stdout is not None
    found, deadline = "", asyncio.get_running_loop().time() + TIMEOUT_SECONDS
    while text not in found:
        try:
            async with asyncio.timeout_at(deadline):
                piece = await running.stdout.read(4096)
        except TimeoutError:
            piece = b""
        assert piece, f"{text!r} was not shown: {found!r}"
        found += piece.decode(errors="replace")
    return found


async def typed(running: ProcessSession, text: str) -> None:
    assert running.stdin is not None
    running.stdin.write(text.encode())
    await running.stdin.drain()


async def running_job(job_cluster: JobCluster, directory: pathlib.Path) -> ProcessSession:
    running = await job_cluster.in_terminal("run", write_manifests(directory, JOB))
    await job_cluster.run("j-master-0")
    await job_cluster.write_log("j-master-0", "hello")
    assert "\x1b[36mmaster-0 |\x1b[0m hello" in await until(running, "hello")
    await typed(running, "\x03")
    await until(running, QUESTION)
    return running


async def test_no_continues(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await running_job(job_cluster, tmp_path)
    await job_cluster.write_log("j-master-0", "held back")
    await typed(running, "n\n")
    await until(running, "held back")
    await job_cluster.succeed("j-master-0")
    await until(running, "pytorchjob/j succeeded")
    assert await running.wait() == 0


async def test_detach_leaves_the_job(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await running_job(job_cluster, tmp_path)
    await typed(running, "detach\n")
    await until(running, "traincrew logs -f pytorchjob/j")
    assert await running.wait() == 0
    assert job_cluster.job() is not None


async def test_yes_deletes_the_job_and_waits_for_its_pods(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await running_job(job_cluster, tmp_path)
    await typed(running, "\n")
    await until(running, "Deleting pytorchjob/j")
    await job_cluster.do(job_cluster.kubelet.gone, "j-master-0")
    assert await running.wait() == 130
    assert job_cluster.job() is None


async def test_a_second_ctrl_c_deletes(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await running_job(job_cluster, tmp_path)
    await typed(running, "\x03")
    await until(running, "Deleting pytorchjob/j")
    await job_cluster.do(job_cluster.kubelet.gone, "j-master-0")
    assert await running.wait() == 130


async def test_the_question_ends_when_the_job_finishes(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await running_job(job_cluster, tmp_path)
    await job_cluster.succeed("j-master-0")
    await until(running, "pytorchjob/j succeeded after")
    assert await running.wait() == 0
    assert job_cluster.job() is not None


async def test_a_job_that_finishes_during_the_question_is_kept(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    """Of two jobs, the other one still runs, and is deleted."""
    other = manifests.job("PyTorchJob", Master=1, name="other")
    running = await job_cluster.in_terminal("run", write_manifests(tmp_path, JOB, other))
    await job_cluster.run("j-master-0", "other-master-0")
    await job_cluster.write_log("j-master-0", "hello")
    await until(running, "hello")
    await typed(running, "\x03")
    await until(running, "Delete pytorchjob/j, pytorchjob/other? [Y/n/detach]")
    await job_cluster.succeed("j-master-0")
    await job_cluster.until(lambda: "Succeeded" in str((job_cluster.job() or {})["status"]["conditions"]))
    await typed(running, "\n")
    await until(running, "Deleting pytorchjob/other.")
    await job_cluster.do(job_cluster.kubelet.gone, "other-master-0")
    await until(running, "pytorchjob/j has finished and is kept.")
    assert await running.wait() == 130
    assert job_cluster.job() is not None
    assert job_cluster.job("other") is None
