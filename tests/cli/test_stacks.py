"""`traincrew stacks` with real pods: py-spy on the host, in the container and in an ephemeral container, and faulthandler."""

from __future__ import annotations

import datetime as dt
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from tests.cli.cluster_fixture import JobCluster, write_manifests
from tests.cli.test_real_pods import Machine
from tests.cluster import manifests
from tests.cluster.api import Api, eventually

from traincrew.cli import py_spy
from traincrew.cli.jobs import container_stacks, local_processes, signal_stacks
from traincrew.cli.render import stacks
from traincrew.client import kubeconfig, pod_logs
from traincrew.client.remote import RemoteClient

TRAIN = """
import faulthandler, os, signal, sys, threading
if os.environ["RANK"] == "0":
    faulthandler.register(signal.SIGUSR1, all_threads=True)
def wait_for_the_others():
    threading.Event().wait()
print("started", flush=True)
wait_for_the_others()
"""
PY_SPY_IMAGE = "traincrew.local/with-py-spy"


@pytest.fixture
async def machine(tmp_path: pathlib.Path) -> AsyncIterator[Machine]:
    found = Machine(tmp_path)
    code, _, err = await found("up", "--detach")
    assert code == 0, err
    (found.work / "train.py").write_text(TRAIN)
    command = ("--", sys.executable, "train.py")
    code, out, err = await found("run", "--dry-run", "--kind", "PyTorchJob", "--workers", "2", "--name", "j", *command)
    assert code == 0, err
    # The kubelet of this machine does not share the processes of a container with an ephemeral one otherwise.
    (found.work / "job.yaml").write_text(
        out.replace("spec:\n          containers:", "spec:\n          shareProcessNamespace: true\n          containers:")
    )
    assert "shareProcessNamespace" in (found.work / "job.yaml").read_text()
    code, _, err = await found("run", "--detach", "job.yaml")
    assert code == 0, err
    eventually(lambda: subprocess.run(["grep", "-rql", "started", found.data / "logs"], check=False).returncode == 0)
    yield found
    await found("delete", "--all", "--wait")
    await found("down", "--grace", "0")


async def read(machine: Machine, *options: str) -> tuple[int, list[dict[str, str]], str]:
    code, out, err = await machine("stacks", "j", "-o", "json", *options)
    return code, json.loads(out), err


async def test_the_stacks_of_every_replica_are_read(machine: Machine, tmp_path: pathlib.Path) -> None:
    async def waits(*options: str) -> None:
        code, found, err = await read(machine, *options)
        assert code == 0, (found, err)
        for each in found:
            assert "wait_for_the_others" in str(each), each

    await waits()
    code, out, _ = await machine("stacks", "j")
    assert (code, [line for line in out.splitlines() if "(pod" in line]) == (
        0,
        ["master-0 (pod j-master-0)", "worker-0 (pod j-worker-0)"],
    )
    # As on a cluster of other machines: in the container, and beside it.
    remote = tmp_path / "kubeconfig"
    remote.write_text((machine.data / "kubeconfig").read_text())
    machine.env["TRAINCREW_DATA"] = os.fspath(tmp_path / "none")
    cluster = ("--kubeconfig", os.fspath(remote))
    await waits(*cluster)
    # The default environment is not seen by pods if this tree is in /tmp.
    assert (await machine("image", "set", PY_SPY_IMAGE, "--env-dir", sys.prefix, "--data", os.fspath(machine.data)))[0] == 0
    await waits(*cluster, "--image", PY_SPY_IMAGE, "--replica", "worker-0")
    code, found, _ = await read(machine, *cluster, "--signal", "USR1")
    machine.env["TRAINCREW_DATA"] = os.fspath(machine.data)
    assert code == 0
    registered, ignored = found
    assert "in wait_for_the_others" in str(registered)
    assert "does not handle SIGUSR1" in str(ignored)
    assert "2/2" in (await machine("ls"))[1]  # nothing was ended


async def test_a_missing_right_is_named(machine: Machine, tmp_path: pathlib.Path) -> None:
    api = Api(machine.data / "kubeconfig")
    rules = [
        {"apiGroups": ["kubeflow.org"], "resources": ["*"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "viewer"}, "rules": rules}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "viewer"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "viewer"}],
    }
    api.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
    api.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    config = (machine.data / "kubeconfig").read_text().replace("    token:", "    as: viewer\n    token:")
    assert "as: viewer" in config
    restricted = tmp_path / "viewer"
    restricted.write_text(config)
    machine.env["TRAINCREW_DATA"] = os.fspath(tmp_path / "none")
    for options, right in (((), "create pods/exec"), (("--image", "x"), "patch pods/ephemeralcontainers")):
        code, out, _ = await machine("stacks", "j", "--kubeconfig", os.fspath(restricted), *options)
        assert (code, right in out) == (1, True), out
    machine.env["TRAINCREW_DATA"] = os.fspath(machine.data)


async def test_the_stacks_of_a_pod_on_another_machine_are_read_in_its_container(
    job_cluster: JobCluster, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a node that has joined the cluster of this machine. The container has no py-spy."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sh").symlink_to("/bin/sh")
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await job_cluster.run("j-master-0")
    monkeypatch.setenv("PATH", os.fspath(programs))
    code, out, err = await job_cluster("stacks", "j")
    assert (code, "py-spy is not installed in the container" in out) == (1, True), f"{out}{err}"


async def test_stacks_in_the_log_of_a_node_with_another_clock_are_found(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await job_cluster.run("j-master-0")
    position = pod_logs.ContainerReference(job_cluster.namespace, "j-master-0", "pytorch")
    container, behind = job_cluster.container("j-master-0"), dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
    head, frame = "Current thread 0x00007f01 (most recent call first):", '  File "train.py", line 7 in {}'
    await container.write_log(head, frame.format("an_earlier_dump"), "step 4", at=behind)
    async with RemoteClient(kubeconfig.load(str(job_cluster.cluster.data / "kubeconfig"))) as client:
        before = await signal_stacks.last_line(client, position)
        await container.write_log(head, frame.format("waiting"), at=behind + dt.timedelta(milliseconds=1))
        found = await signal_stacks.dumped(client, position, before)
    assert found.splitlines() == [head, frame.format("waiting")]


def test_threads_and_frames_are_read_from_py_spy() -> None:
    frames = [
        {"name": "barrier", "filename": "/v/lib/python3.11/site-packages/torch/distributed/c10d.py", "line": 7},
        {"name": "<module>", "filename": "/work/train.py", "line": 3},
    ]
    dump = [
        {"thread_name": "reader", "os_thread_id": 9, "active": False, "frames": []},
        {"thread_name": None, "os_thread_id": 4, "active": True, "frames": frames},
    ]
    (process,) = container_stacks.parse(f"process 4 python train.py \n{json.dumps(dump)}\n")
    assert [thread.name for thread in process.threads] == ["MainThread", "reader"]
    replica = stacks.ReplicaStacks("worker-0", "j-worker-0", (process,))
    assert replica.main_thread() == ("barrier (torch/distributed/c10d.py:7)", "<module> (train.py:3)")


def test_an_untraceable_process_is_reported_with_the_capability() -> None:
    (process,) = container_stacks.parse("process 4 python train.py \nError: Permission Denied: Try running again\n")
    assert "SYS_PTRACE" in process.problem


BACKTRACE = """Error: Failed to get process executable name. Check that the process is running.

Caused by:
    0: No such file or directory (os error 2)
    1: No such file or directory (os error 2)

Stack backtrace:
   0: <E as anyhow::context::ext::StdError>::ext_context
   1: py_spy::python_process_info::PythonProcessInfo::new
"""
"""Of py-spy 0.4 for a process that has ended."""


def test_an_error_of_py_spy_is_one_sentence() -> None:
    sentence = "Failed to get process executable name. Check that the process is running: No such file or directory (os error 2)"
    assert py_spy.reason(BACKTRACE) == sentence
    (process,) = container_stacks.parse("process 4 python train.py \n" + BACKTRACE.replace("\n", "\x1e") + "\n")
    assert process.problem == f"py-spy cannot read the stacks: {sentence}"
    assert py_spy.reason("") == "no output"


def test_replicas_whose_stacks_cannot_be_read_share_a_line() -> None:
    found = [stacks.ReplicaStacks(name, f"j-{name}", problem="no") for name in ("master-0", "worker-0")]
    found.insert(1, stacks.ReplicaStacks("worker-1", "j-worker-1", (stacks.ProcessStacks(4, "python train.py"),)))
    assert stacks.text(found).splitlines() == [
        "worker-1 (pod j-worker-1)",
        "  process 4: python train.py",
        "",
        "master-0, worker-0: no",
    ]


def test_the_programs_that_the_kubelet_brings_are_not_processes_of_the_job() -> None:
    """The launcher of an MPIJob runs a kubectl for each worker."""
    programs = ["from traincrew.embedded.kubelet.images.programs import kubectl", "import train"]
    started = [subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(60) # {each}"]) for each in programs]
    try:
        for each in started:
            eventually(lambda each=each: b"sleep" in pathlib.Path(f"/proc/{each.pid}/cmdline").read_bytes())  # type: ignore[misc]
        found = [local_processes._python_process(each.pid) for each in started]
    finally:
        for each in started:
            each.kill()
            each.wait()
    assert found[0] is None
    assert found[1] is not None


def test_without_py_spy_the_command_that_installs_it_is_said_once(tmp_path: pathlib.Path) -> None:
    """In an environment that has traincrew and no py-spy."""
    bare = tmp_path / "bin"
    bare.mkdir()
    (bare / "python").symlink_to(sys.executable)
    code = "import sys; sys.executable = sys.argv[1]\nfrom traincrew.cli.jobs import host_stacks\nhost_stacks.find_py_spy()"
    done = subprocess.run(
        [sys.executable, "-c", code, os.fspath(bare / "python")],
        capture_output=True, text=True, check=False, env={**os.environ, "PATH": os.fspath(bare)},
    )  # fmt: skip
    assert f"py-spy, which reads the stacks, is not installed. Run `{bare}/python -m pip install py-spy`" in done.stderr
