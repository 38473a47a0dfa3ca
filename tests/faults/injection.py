"""Injects faults into a cluster with jobs, and ends those that last."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable

from tests.cluster.api import Object, RejectedRequest
from tests.faults import light_jobs
from tests.faults.fault_lists import Fault
from tests.faults.faulty_cluster import DEVICES, SPOT, FaultyCluster
from tests.node import node_outages
from tests.seeds import processes
from tools.kube import build

SPOT_NOTICE = "aws-node-termination-handler/spot-itn"
JOBS = {"torch": "pytorchjobs", "ring": "mpijobs"}
ROLES = {"torch": "pytorchReplicaSpecs", "ring": "mpiReplicaSpecs"}
QUOTA = "faults"
End = Callable[[], object]


class Injector:
    def __init__(self, cluster: FaultyCluster, namespace: str) -> None:
        self._cluster, self._api, self._namespace = cluster, cluster.api, namespace
        self._lasting: list[tuple[float, str, End]] = []
        """When each ends, what it is about, and how it ends."""
        self.report: list[str] = []
        self.kills = dict.fromkeys(JOBS, 0)
        """Replicas whose processes were killed, by job. The kubelet may restart them, which counts as a failure."""
        self.scaled = dict.fromkeys(JOBS, 0)
        self.blind_seconds = 0.0
        """How long the operator or the API server were down."""
        self._injections: dict[str, Callable[[Fault], str]] = {
            "kill a worker": self._kill_worker, "delete a worker": self._delete_worker, "evict a worker": self._evict_worker,
            "kill a kubelet": self._kill_kubelet, "kill the operator": self._kill_operator,
            "kill the API server": self._kill_apiserver, "cut off a node": self._cut_off, "power off a node": self._power_off,
            "announce the end of a node": self._announce, "drain a node": self._drain, "start another job": self._other_job,
            "lower the quota": self._lower_quota, "scale a job": self._scale,
        }  # fmt: skip
        self._began = time.monotonic()

    def inject(self, fault: Fault) -> None:
        self._note(f"{fault}: {self._injections[fault.kind](fault)}")
        limit = time.monotonic() + fault.pause
        while (left := limit - time.monotonic()) > 0:
            self.end_expired()
            time.sleep(min(left, 0.2))

    def end_expired(self, *, all_of_them: bool = False) -> None:
        for each in [each for each in self._lasting if all_of_them or each[0] <= time.monotonic()]:
            self._lasting.remove(each)
            each[2]()
            self._note(f"  {each[1]} is over")

    def _note(self, text: str) -> None:
        self.report.append(f"{time.monotonic() - self._began:6.1f} s  {text}")

    def _last(self, fault: Fault, what: str, end: End) -> str:
        self._lasting.append((time.monotonic() + fault.seconds, what, end))
        return what

    def _workers(self) -> list[Object]:
        """Running workers of both jobs that are not terminating, on nodes that respond."""
        silent = {what.partition(" ")[0] for _, what, _ in self._lasting}
        found = []
        for pod in self._api.all("pods", self._namespace, "training.kubeflow.org/replica-type=worker"):
            running = pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
            if job_of(pod) in JOBS and running and pod["spec"].get("nodeName") not in silent:
                found.append(pod)
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))

    def _worker(self, fault: Fault) -> Object | None:
        found = self._workers()
        return found[fault.target % len(found)] if found else None

    def _kill_worker(self, fault: Fault) -> str:
        pod = self._worker(fault)
        if pod is None:
            return "nothing runs"
        self.kills[job_of(pod)] += 1
        with contextlib.suppress(OSError):  # the container has ended by itself
            for pid in processes.commands(self._cluster.nodes[pod["spec"]["nodeName"]], pod):
                os.kill(pid, signal.SIGKILL)
        return str(pod["metadata"]["name"])

    def _delete_worker(self, fault: Fault) -> str:
        pod = self._worker(fault)
        if pod is None:
            return "nothing runs"
        self._api.delete("pods", self._namespace, pod["metadata"]["name"])
        return str(pod["metadata"]["name"])

    def _evict_worker(self, fault: Fault) -> str:
        pod = self._worker(fault)
        if pod is None:
            return "nothing runs"
        name = str(pod["metadata"]["name"])
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": self._namespace}}
        with contextlib.suppress(RejectedRequest):  # deleted meanwhile
            self._api.call("POST", f"/api/v1/namespaces/{self._namespace}/pods/{name}/eviction", body)
        return name

    def _node(self, fault: Fault, names: tuple[str, ...]) -> str:
        """A node without a fault of its own. Empty: there is none."""
        faulty = {what.partition(" ")[0] for _, what, _ in self._lasting}
        found = [name for name in names if name not in faulty]
        return found[fault.target % len(found)] if found else ""

    def _kill_kubelet(self, fault: Fault) -> str:
        name = self._node(fault, tuple(self._cluster.nodes))
        if name:
            self._cluster.nodes[name].kill()
            self._cluster.nodes[name].up(*DEVICES)
        return name or "no node is without a fault"

    def _kill_operator(self, fault: Fault) -> str:
        began = time.monotonic()
        self._cluster.kill_operator()
        self._cluster.start_operator()
        self.blind_seconds += time.monotonic() - began
        return "started again"

    def _kill_apiserver(self, fault: Fault) -> str:
        began = time.monotonic()
        self._cluster.kube.restart_apiserver()
        self.blind_seconds += time.monotonic() - began
        return "started again"

    def _cut_off(self, fault: Fault) -> str:
        if not (name := self._node(fault, SPOT)):
            return "no node is without a fault"
        node = self._cluster.nodes[name]
        node_outages.cut_off(node)
        return self._last(fault, f"{name} without its network", lambda: node_outages.reconnect(node))

    def _power_off(self, fault: Fault) -> str:
        if not (name := self._node(fault, SPOT)):
            return "no node is without a fault"
        node = self._cluster.nodes[name]
        for pod in self._api.all("pods", self._namespace, "training.kubeflow.org/job-name"):
            if job_of(pod) in JOBS:
                self.kills[job_of(pod)] += pod["spec"].get("nodeName") == name
        node_outages.power_off(node)
        return self._last(fault, f"{name} without power", lambda: node_outages.reboot(node, *DEVICES))

    def _announce(self, fault: Fault) -> str:
        if not (name := self._node(fault, SPOT)):
            return "no node is without a fault"
        self._cluster.kubectl("taint", "node", name, f"{SPOT_NOTICE}=now:NoSchedule")
        return self._last(fault, f"{name} to be ended", lambda: self._cluster.kubectl("taint", "node", name, f"{SPOT_NOTICE}-"))

    def _drain(self, fault: Fault) -> str:
        if not (name := self._node(fault, SPOT)):
            return "no node is without a fault"
        flags = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s")
        command = [str(build.program("kubectl")), f"--kubeconfig={self._cluster.kube.kubeconfig}", "drain", name, *flags]
        drain = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end() -> None:
            drain.terminate()
            drain.wait()
            self._cluster.kubectl("uncordon", name)

        return self._last(fault, f"{name} drained", end)

    def _other_job(self, fault: Fault) -> str:
        name = f"other-{fault.target}"
        if self._api.find("tfjobs", self._namespace, name) is not None:
            return "it runs already"
        self._api.create(self._namespace, light_jobs.other(name, fault.size))
        return self._last(fault, f"{name} with {fault.size} devices", lambda: self._api.delete("tfjobs", self._namespace, name))

    def _lower_quota(self, fault: Fault) -> str:
        if self._api.find("resourcequotas", self._namespace, QUOTA) is not None:
            return "it is low already"
        spec = {"hard": {f"requests.{light_jobs.DEVICE}": fault.size}}
        body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": QUOTA}, "spec": spec}
        self._api.create(self._namespace, body)
        end = self._api.delete
        return self._last(fault, f"a quota of {fault.size} devices", lambda: end("resourcequotas", self._namespace, QUOTA))

    def _scale(self, fault: Fault) -> str:
        name = sorted(JOBS)[fault.target % len(JOBS)]
        before = self._api.get(JOBS[name], self._namespace, name)["spec"][ROLES[name]]["Worker"]["replicas"]
        patch = {"spec": {ROLES[name]: {"Worker": {"replicas": fault.size}}}}
        self._api.patch(JOBS[name], self._namespace, name, patch)
        self.scaled[name] += before != fault.size
        return f"{name} from {before} to {fault.size}"


def job_of(pod: Object) -> str:
    return str(pod["metadata"]["labels"]["training.kubeflow.org/job-name"])
