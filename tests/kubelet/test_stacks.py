"""`traincrew stacks --image` with containerd: an ephemeral container reads the stacks of the processes of another one."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.cluster.api import Object, eventually
from tests.kubelet import images
from tests.kubelet.jobs import LIMIT, Jobs, job, replicas

DEBUGGED = "debugged"
"""A namespace without PodSecurity: `restricted` and `baseline` forbid SYS_PTRACE."""
WAITS = """
import threading
def wait_for_the_others():
    threading.Event().wait()
print("started", flush=True)
wait_for_the_others()
"""


def _stacks(jobs: Jobs, name: str, namespace: str, *options: str) -> tuple[int, str]:
    command = (sys.executable, "-m", "traincrew.cli.main", "stacks", name, "-n", namespace, "-o", "json", *options)
    result = subprocess.run(
        [*command, "--kubeconfig", jobs.node.kube.kubeconfig], capture_output=True, text=True, check=False, timeout=LIMIT
    )
    return result.returncode, result.stdout + result.stderr


def _waiting(name: str, namespace: str) -> Object:
    body = job("JAXJob", name, {"Worker": replicas(1, "jax", "python3", "-c", WAITS)})
    body["metadata"]["namespace"] = namespace
    return body


def test_an_ephemeral_container_reads_the_stacks_of_a_container_that_is_not_root(jobs: Jobs) -> None:
    jobs.api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": DEBUGGED}})
    eventually(lambda: jobs.api.find("serviceaccounts", DEBUGGED, "default"), LIMIT)
    jobs.api.create(DEBUGGED, _waiting("waits", DEBUGGED))
    eventually(lambda: "started" in jobs.node.kubectl("logs", "-n", DEBUGGED, "waits-worker-0", check=False), LIMIT)
    code, output = _stacks(jobs, "waits", DEBUGGED, "--image", images.DEBUGGER)
    assert code == 0, output
    (replica,) = json.loads(output)
    assert "wait_for_the_others" in str(replica), output
    code, output = _stacks(jobs, "waits", DEBUGGED)
    assert (code, "py-spy is not installed in the container" in output) == (1, True), output


def test_a_policy_that_forbids_the_ephemeral_container_is_named(jobs: Jobs) -> None:
    jobs.create(_waiting("guarded", "train"))
    jobs.running("guarded-worker-0")
    code, output = _stacks(jobs, "guarded", "train", "--image", images.DEBUGGER)
    assert (code, "PodSecurity" in output) == (1, True), output
