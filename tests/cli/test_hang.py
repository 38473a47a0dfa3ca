"""A job that hangs, with real pods and by logs alone. The sentence disappears when output resumes."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import pathlib
import re
import sys
from collections.abc import AsyncIterator, Mapping

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
    await found("down", "--grace", "0")


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
        await until_printed(machine, "worker-1 has printed nothing for", *verb, *SOON)
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
    for verb in (("ls",), ("describe", "j")):  # ls reads no logs: it knows the silence when the node has reported it
        await until_printed(machine, "is in load_data (train.py:", *verb, "--silent-after", "1h", "--differs-after", "3s")


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


async def test_run_reports_a_hang_once_and_that_output_resumes(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    manifest = write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1, Worker=1))
    # The limits are far from the silence that the test writes, and from its duration. Searches follow each other quickly.
    running = await job_cluster.start("run", manifest, "--silent-after", "2h", "--differs-after", "4s")
    await job_cluster.run("j-master-0", "j-worker-0")
    await report_start(job_cluster, dt.datetime.now(dt.UTC) - dt.timedelta(hours=3, minutes=30))
    err = await running.wait_for("j: no replica has printed anything for 3 h 30 min")
    assert "Run `traincrew stacks pytorchjob/j` to see where each replica is." in err
    await job_cluster.write_log("j-master-0", "epoch 1")
    await running.wait_for("j: output has resumed\n")
    await report_start(job_cluster, dt.datetime.now(dt.UTC) - dt.timedelta(hours=5), "j-master-0")  # which has printed since
    await job_cluster.succeed("j-worker-0", "j-master-0")
    code, out, err = await running.end()
    assert (code, out) == (0, "[master-0] epoch 1\n")
    assert "printed" not in err


async def test_run_reports_an_exception_of_a_replica_that_does_not_exit(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    manifest = write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1, Worker=1))
    running = await job_cluster.start("run", manifest, "--silent-after", "2h", "--differs-after", "4s")
    await job_cluster.run("j-master-0", "j-worker-0")
    for line in ("Traceback (most recent call last):", '  File "train.py", line 1, in <module>', "IndexError: list index"):
        await job_cluster.write_log("j-worker-0", line)
    err = await running.wait_for("j: worker-0 printed an exception")
    assert "has not exited: IndexError: list index. Fix the exception." in err
    await job_cluster.succeed("j-worker-0", "j-master-0")
    code, _, err = await running.end()
    assert (code, "printed an exception" in err) == (0, False), "it is said once"


FAILURE = (
    "Traceback (most recent call last):",
    '  File "train.py", line 4, in <module>',
    '    raise ValueError("bad batch 7")',
    "ValueError: bad batch 7",
    "E1119 23:27:11.233000 84 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 0 "
    "(pid: 92) of binary: /opt/torch/bin/python",
)


async def test_run_and_why_say_that_torchrun_has_restarted_its_workers(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    policy = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3, "maxRestarts": 3}}
    manifest = write_manifests(tmp_path, manifests.job("PyTorchJob", Worker=2, spec=policy))
    running = await job_cluster.start("run", manifest, "--silent-after", "2h", "--differs-after", "4s")
    await job_cluster.run("j-worker-0", "j-worker-1")
    for line in FAILURE:
        await job_cluster.write_log("j-worker-1", line)
    said = "torchrun has restarted its workers {}; the last failure: ValueError: bad batch 7 (worker-1)"
    await running.wait_for(f"j: {said.format('1 time')}. Run `traincrew why pytorchjob/j` for details.")
    for line in FAILURE:
        await job_cluster.write_log("j-worker-1", line)
    await running.wait_for(f"j: {said.format('2 times')}")
    page = (await job_cluster("why", "j"))[1]
    assert said.format("2 times") in page
    assert "no problem found" not in page
    assert "  | ValueError: bad batch 7\n" in page
    assert "`traincrew logs pytorchjob/j --replica worker-1` shows it" in page
    await job_cluster.succeed("j-worker-0", "j-worker-1")
    assert (await running.end())[0] == 0


EXITED = {"exitCode": 1, "reason": "Error", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}


WAITS = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}}


@pytest.mark.parametrize("again", [pytest.param(False, id="waits for its restart"), pytest.param(True, id="runs again")])
async def test_an_exception_of_an_earlier_run_is_not_one_of_a_process_that_has_not_exited(
    job_cluster: JobCluster, tmp_path: pathlib.Path, again: bool
) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await job_cluster.run("j-master-0")
    await job_cluster.until(lambda: "Running" in str((job_cluster.job() or {})["status"]["conditions"]))
    then = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=3)
    await report_start(job_cluster, then, "j-master-0")
    for line in ("Traceback (most recent call last):", '  File "train.py", line 1, in <module>', "IndexError: list index"):
        await job_cluster.container("j-master-0").write_log(line, at=then)
    assert "has not exited: IndexError" in (await job_cluster("why", "j"))[1]
    state = running_since(dt.datetime.now(dt.UTC)) if again else WAITS
    await report_state(job_cluster, state, "j-master-0", restartCount=1, lastState={"terminated": EXITED})
    assert "has not exited" not in (await job_cluster("why", "j"))[1]


async def report_start(cluster: JobCluster, started: dt.datetime, *pods: str) -> None:
    """Say that the containers, which run, started at this time."""
    for pod in pods or ("j-master-0", "j-worker-0"):
        await report_state(cluster, running_since(started), pod)


def running_since(started: dt.datetime) -> dict[str, object]:
    return {"running": {"startedAt": f"{started:%Y-%m-%dT%H:%M:%SZ}"}}


async def report_state(cluster: JobCluster, state: Mapping[str, object], pod: str, **facts: object) -> None:
    status = (await cluster.do(cluster.kubelet.pod, pod))["status"]["containerStatuses"][0]
    await cluster.do(cluster.kubelet.status, pod, {"containerStatuses": [{**status, "state": state, **facts}]})


async def test_an_invalid_time_is_an_error(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    code, _, err = await job_cluster("why", "j", "--silent-after", "soon")
    assert (code, "soon" in err) == (2, True)
    code, _, err = await job_cluster(
        "run", "--differs-after", "soon", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1))
    )
    assert (code, "soon" in err) == (2, True)


async def test_ls_does_not_take_a_job_for_silent_whose_output_it_does_not_know(
    job_cluster: JobCluster, tmp_path: pathlib.Path
) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1, Worker=1)))
    await job_cluster.run("j-master-0", "j-worker-0")
    await job_cluster.until(lambda: "Running" in str((job_cluster.job() or {})["status"]["conditions"]))
    await report_start(job_cluster, dt.datetime.now(dt.UTC) - dt.timedelta(minutes=30))
    await job_cluster.write_log("j-master-0", "epoch 1")
    assert "printed" not in (await job_cluster("ls"))[1]


async def test_ls_why_and_describe_name_the_exception_of_a_silent_job(machine: Machine) -> None:
    """The launcher of an MPIJob waits for the other ranks after the exception of one: all are silent because of it."""
    (machine.work / "stuck.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\nraise ValueError('bad data')\n"
    )
    command = ("--workers", "1", "--name", "j", "--", sys.executable, "stuck.py")
    assert (await machine("run", "--detach", "--kind", "JAXJob", *command))[0] == 0
    for verb in (("ls",), ("why", "j"), ("describe", "j")):
        page = await until_printed(machine, "has not exited: ValueError: bad data", *verb, *SOON)
        assert "printed nothing" not in page
        assert page.count("has not exited") == 1


async def test_why_shows_the_activity_of_a_running_job_before_any_limit(machine: Machine) -> None:
    (machine.work / "quiet.py").write_text("import time\nprint('start', flush=True)\ntime.sleep(1000)\n")
    command = ("--workers", "2", "--name", "j", "--", sys.executable, "quiet.py")
    assert (await machine("run", "--detach", "--kind", "PyTorchJob", *command))[0] == 0
    page = await until_printed(machine, " CPU\n", "why", "j")
    assert "no problem found" in page
    for replica in ("master-0", "worker-0"):
        assert re.search(rf"^  {replica}  printed its last line \d+s ago", page, re.MULTILINE), page
    assert "traincrew stacks pytorchjob/j" in page


async def test_without_py_spy_why_says_how_to_install_it(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1, Worker=1)))
    await job_cluster.run("j-master-0", "j-worker-0")
    await job_cluster.until(lambda: "Running" in str((job_cluster.job() or {})["status"]["conditions"]))
    await report_start(job_cluster, dt.datetime.now(dt.UTC) - dt.timedelta(minutes=30))
    # An interpreter that has no py-spy beside it.
    python = pathlib.Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    environment = {**job_cluster.environment(), "PYTHONPATH": ":".join(filter(None, sys.path)), "PATH": "/nonexistent"}
    command = [str(python), "-m", "traincrew.cli.main", "why", "-n", job_cluster.namespace, "j"]
    process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=asyncio.subprocess.PIPE)
    page = (await process.communicate())[0].decode()
    assert "no replica has printed anything for 30 min" in page
    assert "has printed nothing since its start 30m ago" in page
    install = f"It needs py-spy, which is not installed: run `{python} -m pip install py-spy` first."
    assert f"Run `traincrew stacks pytorchjob/j` to see where each replica is. {install}" in page
    assert "py-spy" not in (await job_cluster("why", "j"))[1]  # it is installed beside this one
