"""JobSet beside traincrew: both act on objects of one namespace, and each only on its own."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.cluster import audit, installed_operators, jobs_with_leader, operators
from tests.cluster.api import Api, Object, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.ecosystem import programs_of_others, webhooks
from tools.ecosystem import programs
from tools.kube import cluster

JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"


@pytest.fixture
def jobset(kube: cluster.Cluster, tmp_path: pathlib.Path) -> Iterator[None]:
    source = programs.module_directory(programs.JOBSET) / "config" / "components"
    programs_of_others.apply_crds(kube, source / "crd" / "bases")
    server = webhooks.WebhookServer(tmp_path)
    configuration: dict[str, Any] = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{operators.free_port()}"},
        "metrics": {"bindAddress": f"127.0.0.1:{operators.free_port()}"},
        "webhook": {"port": server.port, "certDir": str(tmp_path)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(configuration))
    with programs_of_others.running("jobset/manager", [f"--config={path}"], kube.kubeconfig) as program:
        program.wait_for("Starting workers", '"controller": "jobset"')
        program.wait_for("Serving webhook server")
        # Its webhooks see every new pod, also ours.
        server.register(kube, source / "webhook" / "manifests.yaml", ("jobset.x-k8s.io", ""))
        yield


def job_set(name: str) -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train:1"}]}
    job = {"parallelism": 2, "completions": 2, "template": {"spec": pod}}
    spec = {"replicatedJobs": [{"name": "worker", "replicas": 1, "template": {"spec": job}}]}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name}, "spec": spec}


@pytest.mark.usefixtures("jobset")
def test_a_jobset_and_a_job_of_the_same_name_run_side_by_side(kube: cluster.Cluster, api: Api, account: pathlib.Path) -> None:
    kubelet = FakeKubelet(api, "default")

    def set_pods() -> list[str]:
        return [pod["metadata"]["name"] for pod in api.all("pods", "default", "jobset.sigs.k8s.io/jobset-name=j")]

    def succeeded(stored: Object) -> bool:
        conditions = stored.get("status", {}).get("conditions", ())
        return any(each["type"] in ("Succeeded", "Completed") and each["status"] == "True" for each in conditions)

    with operators.running(account) as process, contextlib.ExitStack() as checks:
        checks.callback(lambda: _assert_untouched(kube))
        api.call("POST", JOB_SETS, job_set("j"))
        api.create("default", jobs_with_leader.job("PyTorchJob", 1))
        kubelet.run(*jobs_with_leader.pods("PyTorchJob", 1))
        eventually(lambda: len(set_pods()) == 2, 60)
        kubelet.run(*set_pods())
        kubelet.succeed(jobs_with_leader.leader("PyTorchJob"))
        eventually(lambda: succeeded(api.get("pytorchjobs", "default", "j")), 60)
        kubelet.succeed(*set_pods())
        eventually(lambda: succeeded(api.call("GET", f"{JOB_SETS}/j")), 60)
        assert "Traceback" not in process.log
        shown = installed_operators.traincrew(kube, "doctor", "--cluster")
        assert "jobset" not in shown.stdout.lower(), "JobSet is no other operator of our kinds"


def _assert_untouched(kube: cluster.Cluster) -> None:
    """The operator has written to its own objects only."""
    written = {
        (entry["verb"], entry["objectRef"]["resource"], entry["objectRef"].get("name", ""))
        for entry in audit.requests(kube, f"{installed_operators.NAMESPACE}:traincrew")
        if entry["verb"] not in ("get", "list", "watch") and entry["objectRef"]["resource"] not in ("events", "leases")
    }
    own = {f"j-{role}-0" for role in ("master", "worker")} | {"j", ""}
    assert {name for _, _, name in written} <= own, written
    assert {resource for _, resource, _ in written} <= {"pods", "services", "pytorchjobs"}, written
