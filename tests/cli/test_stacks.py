"""`traincrew stacks` with real pods: py-spy on the host, in the container and in an ephemeral container, and faulthandler."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from tests.cli.test_real_pods import Machine
from tests.cluster.api import Api, eventually

from traincrew.cli.jobs import container_stacks
from traincrew.cli.render import stacks

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
    await found("down")


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
