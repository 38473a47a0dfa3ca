"""--host-ports: each replica with hostNetwork gets a port that no other job has until the job ends."""

from __future__ import annotations

import json
import signal
from typing import Any

from tests.cluster import manifests
from tests.cluster.api import Object, eventually
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.submitted_job import SubmittedJob, env

RANGE = "21000-21999"


def on_hosts(kind: str, name: str, run: Object | None = None, **counts: Any) -> Object:
    found = manifests.job(kind, name, run=run, **counts)
    for key, spec in found["spec"].items():
        if key.endswith("ReplicaSpecs"):
            for replica in spec.values():
                replica["template"]["spec"]["hostNetwork"] = True
    return found


def given(job: SubmittedJob) -> dict[str, list[int]]:
    ports: dict[str, list[int]] = job.status.get("hostPorts", {})
    return ports


def every(job: SubmittedJob) -> list[int]:
    return [port for ports in given(job).values() for port in ports]


def test_what_pods_and_services_listen_on_is_what_the_others_connect_to(isolated: IsolatedNamespace) -> None:
    with isolated.operator("--host-ports", RANGE):
        tf = isolated.submit(on_hosts("TFJob", "tf", PS=1, Worker=2))
        torch = isolated.submit(on_hosts("PyTorchJob", "torch", Master=1, Worker=1))
        plain = isolated.submit(manifests.job("PyTorchJob", "plain", Master=1, Worker=1))
        cluster = json.loads(env(isolated.kubelet.pod("tf-worker-1"))["TF_CONFIG"] or "")["cluster"]
        wanted = given(tf)
        assert [at.rpartition(":")[2] for at in cluster["worker"]] == [str(port) for port in wanted["Worker"]]
        assert [at.rpartition(":")[2] for at in cluster["ps"]] == [str(port) for port in wanted["PS"]]
        (port,) = isolated.kubelet.pod("tf-worker-1")["spec"]["containers"][0]["ports"]
        assert (port["containerPort"], port["hostPort"]) == (wanted["Worker"][1],) * 2
        (served,) = isolated.api.get("services", isolated.namespace, "tf-worker-1")["spec"]["ports"]
        assert served["port"] == wanted["Worker"][1]
        assert env(isolated.kubelet.pod("torch-worker-0"))["MASTER_PORT"] == str(given(torch)["Master"][0])
        assert env(isolated.kubelet.pod("plain-worker-0"))["MASTER_PORT"] == "23456"
        assert given(plain) == {}
        assert len({*every(tf), *every(torch)}) == 5
        assert all(21000 <= port <= 21999 for port in (*every(tf), *every(torch)))


def test_many_jobs_at_once_share_no_port_and_an_operator_that_comes_back_knows_them(isolated: IsolatedNamespace) -> None:
    flags = ("--host-ports", "21000-21049")
    with isolated.operator(*flags) as first:
        jobs = [isolated.submit(on_hosts("PyTorchJob", f"j{number}", Master=1, Worker=1)) for number in range(20)]
        eventually(lambda: all(len(every(job)) == 2 for job in jobs))
        first.stop(signal.SIGKILL)
    before = {job.name: given(job) for job in jobs}
    assert len({port for job in jobs for port in every(job)}) == 40
    with isolated.operator(*flags):
        more = [isolated.submit(on_hosts("PyTorchJob", f"k{number}", Master=1, Worker=1)) for number in range(5)]
        eventually(lambda: all(len(every(job)) == 2 for job in more))
        late = isolated.submit(on_hosts("JAXJob", "late", Worker=1))
        assert {job.name: given(job) for job in jobs} == before
        assert len({port for job in (*jobs, *more) for port in every(job)}) == 50
        eventually(lambda: late.why.get("reason") == "NoHostPorts")
        isolated.api.delete("pytorchjobs", isolated.namespace, "j7")
        eventually(lambda: every(late) and set(every(late)) <= {port for ports in before["j7"].values() for port in ports})
        eventually(lambda: isolated.api.find("pods", isolated.namespace, "late-worker-0") is not None)


def test_a_replaced_pod_has_its_port_again_and_the_end_gives_all_back(isolated: IsolatedNamespace) -> None:
    with isolated.operator("--host-ports", RANGE):
        job = isolated.submit(on_hosts("JAXJob", "j", run={"cleanPodPolicy": "None"}, Worker=2))
        isolated.kubelet.run("j-worker-0", "j-worker-1")
        before = given(job)
        uid = isolated.kubelet.pod("j-worker-1")["metadata"]["uid"]
        isolated.kubelet.gone("j-worker-1")
        again = eventually(
            lambda: (pod := isolated.api.find("pods", isolated.namespace, "j-worker-1")) and pod["metadata"]["uid"] != uid and pod
        )
        assert again["spec"]["containers"][0]["ports"][0]["containerPort"] == before["Worker"][1]
        isolated.kubelet.run("j-worker-1")
        for name in ("j-worker-0", "j-worker-1"):
            isolated.kubelet.succeed(name)
        job.becomes("Succeeded")
        eventually(lambda: given(job) == {})
