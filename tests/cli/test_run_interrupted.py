"""`traincrew run` that is interrupted at any time: what it created is deleted, and it says so."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import subprocess
import sys

import pytest
import yaml
from tests.cli.cluster_fixture import TIMEOUT_SECONDS, JobCluster, write_manifests
from tests.cli.test_real_pods import Machine
from tests.cluster import manifests

from traincrew.cli.jobs.submit import Submission
from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.inspection import manifests as parsing

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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupt_after_the_end_of_the_job_ends_its_output_and_keeps_it(
    job_cluster: JobCluster, tmp_path: pathlib.Path, number: signal.Signals
) -> None:
    """As while the rest of long logs is printed."""
    running = await job_cluster.start("run", write_manifests(tmp_path, _job("j")))
    await job_cluster.run("j-master-0")
    await job_cluster.succeed("j-master-0", log_ends=False)
    await running.wait_for("pytorchjob/j has ended: printing the rest of the logs")
    running.process.send_signal(number)
    code, _, err = await running.end()
    assert code == 128 + number
    assert err.startswith("Interrupted. Run `traincrew logs pytorchjob/j` for all lines.\npytorchjob/j succeeded after"), err
    assert "Deleting" not in err
    assert await job_cluster.do(job_cluster.job) is not None


async def test_the_timeout_of_a_job_ends_with_the_job(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    """The time of the command that never ends began later: it has passed for the other one, too."""
    timeout = ("--timeout", "10s")
    running = await job_cluster.start("run", *timeout, write_manifests(tmp_path, _job("j")))
    await job_cluster.run("j-master-0")
    await job_cluster.succeed("j-master-0", log_ends=False)
    await running.wait_for("pytorchjob/j has ended")
    later = await job_cluster.start("run", *timeout, write_manifests(tmp_path, _job("later"), name="later.yaml"))
    while later.process.returncode is None:
        await job_cluster.write_log("j-master-0", "line")
        await running.line()
    await job_cluster.container("j-master-0").end()
    code, _, err = await running.end()
    assert (code, "pytorchjob/j succeeded after" in err, "--timeout" in err) == (0, True, False), err
    assert (await later.end())[0] == 124
    assert await job_cluster.do(job_cluster.job) is not None


async def test_an_interrupt_while_the_api_server_is_down_says_that_the_job_remains(tmp_path: pathlib.Path) -> None:
    machine = Machine(tmp_path)
    assert (await machine("up", "--detach"))[0] == 0
    try:
        process = await machine.start("run", "--kind", "JAXJob", "--name", "long", "--", "sh", "-c", "echo begun; sleep 1000")
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), TIMEOUT_SECONDS) == b"[worker-0] begun\n"
        os.kill(machine.pid(), signal.SIGKILL)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(2 * TIMEOUT_SECONDS):
            _, err = await process.communicate()
        assert process.returncode == 128 + signal.SIGTERM, err
        assert b"jaxjob/long could not be deleted: " in err
        assert b"It may still exist. Run `traincrew delete -n default jaxjob/long` to delete it." in err
        assert b"Deleting" not in err
        assert (await machine("up", "--detach"))[0] == 0
        code, out, _ = await machine("delete", "-n", "default", "jaxjob/long", "--wait")
        assert (code, "long" in out) == (0, True)
    finally:
        await machine("down", "--grace", "0")


async def test_an_interrupt_while_the_cluster_starts_says_that_the_cluster_keeps_running(tmp_path: pathlib.Path) -> None:
    machine = Machine(tmp_path)
    process = await machine.start("run", "--kind", "JAXJob", "--name", "j", "--", "true")
    assert process.stderr is not None
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            assert (await process.stderr.readline()).startswith(b"The job runs with Python ")  # the cluster starts next
            process.send_signal(signal.SIGINT)
            _, err = await process.communicate()
        assert process.returncode == 130, err
        said = "Interrupted. No job was created. The cluster keeps running. Run `traincrew down` to stop it."
        assert said in err.decode()
        assert b"Nothing was created" not in err
        assert "No jobs found" in (await machine("ls"))[2]
    finally:
        await machine("down", "--grace", "0")


async def test_what_is_kept_is_not_called_deleted(job_cluster: JobCluster) -> None:
    """As after an interrupt between the creation of the claim and that of the job."""
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }  # fmt: skip
    wanted = parsing.parse({"claim.yaml": yaml.safe_dump(claim)}).objects
    async with RemoteClient(kubeconfig.load(str(job_cluster.cluster.data / "kubeconfig"))) as client:
        submission = Submission(client, "default", lambda text: None)
        await submission.submit(wanted, replace=False)
        found = await submission.rollback()
    assert [str(each.key) for each in found.kept] == ["persistentvolumeclaim/data"]
    assert found.messages() == []


async def test_a_timeout_of_a_job_that_is_not_waited_for_is_refused(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    code, _, err = await job_cluster("run", "--detach", "--timeout", "5m", write_manifests(tmp_path, _job("j")))
    assert (code, "--timeout cannot be used with --detach" in err) == (2, True)
    assert await job_cluster.do(job_cluster.job, "j") is None


INTERRUPTED_IMPORT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "traincrew.cli.render": os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from traincrew.cli import entry_point
entry_point.main()
"""


def test_a_signal_while_the_program_is_loading_ends_it_without_a_traceback() -> None:
    run = subprocess.run([sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "")
