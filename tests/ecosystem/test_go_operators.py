"""The real Go operators: traincrew leaves the jobs to them while they run, and takes their jobs over with all pods."""

from __future__ import annotations

import contextlib
import pathlib

import pytest
from tests.cluster import jobs_with_leader, operators
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.ecosystem import programs_of_others
from tools.ecosystem import programs
from tools.kube import cluster

KINDS = ("PyTorchJob", "TFJob", "XGBoostJob", "MPIJob")
MX_JOBS = "manifests/base/crds/kubeflow.org_mxjobs.yaml"


def training_operator(kube: cluster.Cluster) -> contextlib.AbstractContextManager[programs_of_others.RunningProgram]:
    """It wants the CRD of MXJobs, which traincrew does not have."""
    definition = programs.module_directory(programs.TRAINING_OPERATOR) / MX_JOBS
    assert kube.kubectl("apply", "--server-side", "-f", str(definition)).returncode == 0
    addresses = ("--metrics-bind-address=0", f"--health-probe-bind-address=127.0.0.1:{operators.free_port()}")
    return programs_of_others.running("training-operator/manager", addresses, kube.kubeconfig)


def pods_by_uid(api: Api) -> dict[str, str]:
    return {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in api.all("pods", "default")}


def conditions(api: Api, kind: str, name: str = "j") -> set[str]:
    found: Object = api.get(f"{kind.lower()}s", "default", name).get("status") or {}
    return {each["type"] for each in found.get("conditions") or () if each["status"] == "True"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_running_job_of_the_go_operator_keeps_its_pods(
    kube: cluster.Cluster, api: Api, account: pathlib.Path, kind: str
) -> None:
    kubelet = FakeKubelet(api, "default")
    with training_operator(kube):
        api.create("default", jobs_with_leader.job(kind, 1))
        kubelet.run(*jobs_with_leader.pods(kind, 1))
        eventually(lambda: "Running" in conditions(api, kind), 60)
    before, mark = pods_by_uid(api), kube.audit_size()
    with operators.running(account):
        consistently(lambda: pods_by_uid(api) == before, 5)
        kubelet.succeed(jobs_with_leader.leader(kind))
        eventually(lambda: "Succeeded" in conditions(api, kind), 60)
        refused = [
            entry["requestURI"]
            for entry in kube.audit(since=mark)
            if entry["verb"] == "create"
            and entry["responseStatus"]["code"] == 409
            and "(operator)" in str(entry.get("userAgent"))
        ]
    assert len(refused) == len(set(refused)), "an object that exists is found once"


def test_statuses_that_the_go_operator_writes_are_noticed(kube: cluster.Cluster, api: Api, account: pathlib.Path) -> None:
    """It runs outside of the cluster: only its writes show it. The first job is one that only the Go operator acts on, as this
    version of it does not know managedBy."""
    with operators.running(account) as process, training_operator(kube):
        api.create("default", jobs_with_leader.job("PyTorchJob", 1, run={"managedBy": "kueue.x-k8s.io/multikueue"}))
        eventually(lambda: "another operator is running" in process.log, 60)
        assert "field manager 'Go-http-client'" in process.log
        assert 'traincrew_other_operator_running{operator="training-operator"} 1.0' in process.metrics()
        mark = kube.audit_size()
        api.create("default", jobs_with_leader.job("PyTorchJob", 1, name="second"))
        eventually(lambda: {"second-master-0", "second-worker-0"} <= api.names("pods", "default"), 60)
        ours = [
            entry["requestURI"]
            for entry in kube.audit(since=mark)
            if "(operator)" in str(entry.get("userAgent")) and entry["verb"] not in ("get", "list", "watch")
        ]
        assert [uri for uri in ours if "/events" not in uri] == []


def test_the_go_mpi_operator_is_noticed_by_its_lease(kube: cluster.Cluster, api: Api, account: pathlib.Path) -> None:
    assert kube.kubectl("create", "namespace", "mpi-operator").returncode == 0
    flags = (f"-kubeConfig={kube.kubeconfig}", "-monitoring-port=0", "-lock-namespace=mpi-operator")
    with programs_of_others.running("mpi-operator/mpi-operator", flags, kube.kubeconfig):
        eventually(lambda: (api.find("leases", "mpi-operator", "mpi-operator") or {}).get("spec", {}).get("holderIdentity"), 60)
        with operators.running(account) as process:
            eventually(lambda: "mpijobs are not reconciled" in process.fetch(process.health_port, "/readyz"))
            assert "mpi-operator holds the Lease mpi-operator/mpi-operator" in process.fetch(process.health_port, "/readyz")
            api.create("default", jobs_with_leader.job("PyTorchJob", 1))
            eventually(lambda: api.find("pods", "default", "j-master-0"))
