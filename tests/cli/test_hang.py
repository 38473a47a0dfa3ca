"""A job that hangs, with real pods and by logs alone. The sentence disappears when output resumes."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import pathlib
import sys
from collections.abc import AsyncIterator

import pytest
from tests.cli.cluster_fixture import TIMEOUT_SECONDS, JobCluster, write_manifests
from tests.cli.test_real_pods import Machine
from tests.cluster import manifests

TRAIN = """
import os, pathlib, socket, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
print("rank", rank, flush=True)

def load_data():
    while not pathlib.Path("loaded").exists():
        time.sleep(0.2)

def barrier():
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if rank == 0:
        with socket.create_server(("", address[1])) as server:
            peers = [server.accept()[0] for _ in range(world - 1)]
        for peer in peers:
            peer.sendall(b"x")
        return peers
    while True:
        try:
            connection = socket.create_connection(address)
            break
        except OSError:
            time.sleep(0.1)
    connection.recv(1)
    return connection

if rank == world - 1:
    load_data()
connections = barrier()
while True:
    print("step", flush=True)
    time.sleep(0.2)
"""
SOON = ("--silent-after", "6s", "--differs-after", "3s")


@pytest.fixture
async def machine(tmp_path: pathlib.Path) -> AsyncIterator[Machine]:
    found = Machine(tmp_path)
    code, _, err = await found("up", "--detach")
    assert code == 0, err
    yield found
    await found("delete", "--all", "--wait")
    await found("down")


async def until_printed(machine: Machine, text: str, *command: str) -> str:
    async with asyncio.timeout(2 * TIMEOUT_SECONDS):
        while True:
            _, out, _ = await machine(*command)
            if text in out:
                return out


async def test_a_replica_that_never_joins_is_named_until_it_does(machine: Machine, tmp_path: pathlib.Path) -> None:
    (machine.work / "train.py").write_text(TRAIN)
    command = ("--workers", "3", "--name", "j", "--", sys.executable, "train.py")
    assert (await machine("run", "--detach", "--kind", "PyTorchJob", *command))[0] == 0
    await until_printed(machine, "has no connection to the other replicas", "why", "j", *SOON)
    page = (await machine("why", "j", *SOON))[1]
    assert "worker-1 has printed nothing for" in page
    assert "is in load_data (train.py:" in page  # py-spy is installed beside traincrew
    assert "the others wait in barrier" in page
    assert "traincrew stacks pytorchjob/j" in page
    for verb in (("ls",), ("describe", "j")):
        assert "worker-1 has printed nothing for" in (await machine(*verb, *SOON))[1]
    assert "no problem found" in (await machine("why", "j"))[1]  # five minutes have not passed
    assert "Running" in (await machine("describe", "j", "-o", "json"))[1]
    # On a cluster of other machines, the stacks are read on request only.
    (tmp_path / "kubeconfig").write_text((machine.data / "kubeconfig").read_text())
    elsewhere = Machine.__new__(Machine)
    elsewhere.data, elsewhere.work = machine.data, machine.work
    elsewhere.env = {
        **machine.env,
        "TRAINCREW_DATA": os.fspath(tmp_path / "none"),
        "KUBECONFIG": os.fspath(tmp_path / "kubeconfig"),
    }
    assert "load_data" not in (await elsewhere("why", "j", *SOON))[1]
    assert "load_data" in (await elsewhere("why", "j", "--stacks", *SOON))[1]
    (machine.work / "loaded").touch()
    await until_printed(machine, "no problem found", "why", "j", *SOON)
    assert "printed nothing" not in (await machine("ls", *SOON))[1]


async def test_of_two_replicas_the_one_that_never_joins_is_named(machine: Machine) -> None:
    (machine.work / "train.py").write_text(TRAIN)
    command = ("--workers", "2", "--name", "j", "--", sys.executable, "train.py")
    assert (await machine("run", "--detach", "--kind", "PyTorchJob", *command))[0] == 0
    page = await until_printed(machine, "is in load_data (train.py:", "why", "j", "--silent-after", "1h", "--differs-after", "3s")
    assert "worker-0 has printed nothing for" in page
    assert "master-0 waits in" in page


async def test_without_a_report_of_the_node_the_logs_are_read(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1, Worker=1)))
    await job_cluster.run("j-master-0", "j-worker-0")
    await job_cluster.until(lambda: "Running" in str((job_cluster.job() or {})["status"]["conditions"]))
    then = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=7)
    for pod in ("j-master-0", "j-worker-0"):
        await job_cluster.container(pod).write_log("epoch 1", at=then)
    assert "no replica has printed anything for 7 min" in (await job_cluster("why", "j"))[1]
    assert "no problem found" in (await job_cluster("why", "j", "--silent-after", "10m"))[1]
    assert "printed anything" not in (await job_cluster("ls"))[1]  # reads no logs
    await job_cluster.write_log("j-master-0", "epoch 2")
    assert "no problem found" in (await job_cluster("why", "j"))[1]


async def test_an_invalid_time_is_an_error(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    code, _, err = await job_cluster("why", "j", "--silent-after", "soon")
    assert (code, "soon" in err) == (2, True)
