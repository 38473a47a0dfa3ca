"""The recorded sessions of real clients. Each session has its own API server."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
from collections.abc import Callable

import yaml
from tests.cluster import manifests, mpi, operators
from tests.cluster.api import Api, Object, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import SubmittedJob
from tests.differential.recording import NAMESPACE
from tools.kube import build

Session = Callable[[pathlib.Path, pathlib.Path], None]
"""Takes two kubeconfigs: through the recorder, and direct for waiting."""


class RecordedKubelet(FakeKubelet):
    """Writes through the recorder, but waits without it."""

    def __init__(self, api: Api, direct: Api) -> None:
        super().__init__(api, NAMESPACE)
        self._direct = direct

    def pod(self, name: str) -> Object:
        return FakeKubelet(self._direct, NAMESPACE).pod(name)


def create_namespace(api: Api) -> None:
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    eventually(lambda: api.find("serviceaccounts", NAMESPACE, "default"))


def operator(recorded: pathlib.Path, direct: pathlib.Path) -> None:
    """The life of a PyTorchJob and an MPIJob: created, running, worker lost, scaled, succeeded, deleted."""
    api, direct_api = Api(recorded), Api(direct)
    create_namespace(api)
    with operators.running(recorded, "--namespace", NAMESPACE):
        kubelet = RecordedKubelet(api, direct_api)
        _pytorch_life(api, direct_api, kubelet)
        _mpi_life(api, direct_api, kubelet)


def _pytorch_life(api: Api, direct_api: Api, kubelet: RecordedKubelet) -> None:
    body = manifests.job(
        "PyTorchJob",
        "torch",
        run={"cleanPodPolicy": "Running"},
        Master=1,
        Worker=manifests.replicas("PyTorchJob", 2, "OnFailure"),
    )
    job = _seen(SubmittedJob(api, NAMESPACE, body), direct_api)
    kubelet.run("torch-master-0", "torch-worker-0", "torch-worker-1")
    job.becomes("Running")
    before = kubelet.pod("torch-worker-1")["metadata"]["uid"]
    kubelet.fail("torch-worker-1", code=137)
    eventually(lambda: kubelet.pod("torch-worker-1")["metadata"]["uid"] != before)
    kubelet.run("torch-worker-1")
    api.patch("pytorchjobs", NAMESPACE, "torch", {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}}})
    eventually(lambda: (direct_api.find("pods", NAMESPACE, "torch-worker-1") or _DELETED)["metadata"].get("deletionTimestamp"))
    kubelet.gone("torch-worker-1")
    kubelet.succeed("torch-master-0")
    job.becomes("Succeeded")
    api.delete("pytorchjobs", NAMESPACE, "torch")
    eventually(lambda: direct_api.names("pods", NAMESPACE) <= {"torch-master-0", "torch-worker-0"})


def _mpi_life(api: Api, direct_api: Api, kubelet: RecordedKubelet) -> None:
    body = mpi.job(2)
    body["metadata"]["name"] = "hvd"
    job = _seen(SubmittedJob(api, NAMESPACE, body), direct_api)
    kubelet.run("hvd-worker-0", "hvd-worker-1", "hvd-launcher")
    job.becomes("Running")
    kubelet.succeed("hvd-launcher")
    job.becomes("Succeeded")
    api.delete("mpijobs", NAMESPACE, "hvd")
    eventually(lambda: "hvd-config" not in direct_api.names("configmaps", NAMESPACE))


_DELETED: Object = {"metadata": {"deletionTimestamp": "now"}}


def _seen(job: SubmittedJob, direct_api: Api) -> SubmittedJob:
    """The same job, read without the recorder."""
    job.api = direct_api
    return job


class Kubectl:
    """The real kubectl, connected to the recorder."""

    def __init__(self, kubeconfig: pathlib.Path, directory: pathlib.Path, version: str | None) -> None:
        self._program = str(build.program("kubectl", version))
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": str(directory / "cache")}
        self._editor = directory / "editor"
        self._editor.write_text('#!/bin/sh\nsed -i "s/replicas: 2/replicas: 3/" "$1"\n')
        self._editor.chmod(0o755)

    def __call__(self, line: str, body: Object | None = None, fails: bool = False) -> str:
        """`line` is a command line. Words cannot contain blanks."""
        command = [self._program, "--namespace", NAMESPACE, *line.split()]
        environment = {**self._environment, "KUBE_EDITOR": str(self._editor)}
        given = yaml.safe_dump(body) if body else None
        done = subprocess.run(command, env=environment, input=given, capture_output=True, text=True, check=False)
        assert fails or done.returncode == 0, f"kubectl {line}: {done.stderr}"
        return done.stdout


def kubectl(recorded: pathlib.Path, direct: pathlib.Path, version: str | None = None) -> None:
    """Typical commands. `version`: that of kubectl; by default that of the servers."""
    create_namespace(Api(recorded))
    with tempfile.TemporaryDirectory(prefix="traincrew-kubectl-") as directory:
        run = Kubectl(recorded, pathlib.Path(directory), version)
        for part in (_created, _shown, _changed, _applied, _asked, _deleted):
            part(run)


TORCH = manifests.job("PyTorchJob", "torch", Master=1, Worker=2)
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}


def _created(run: Kubectl) -> None:
    run("create -f -", TORCH)
    run("create -f -", TORCH, fails=True)
    run("create -f - --dry-run=server -o yaml", manifests.job("TFJob", "flow", Worker=1))
    run("create -f - --validate=strict", {**TORCH, "colour": "red", "metadata": {"name": "odd"}}, fails=True)
    run("create configmap made --from-literal=k=v")
    run("create secret generic hidden --from-literal=k=v")
    run("create serviceaccount robot")
    run("create role reader --verb=get,list --resource=pods,pods/log")
    run("create rolebinding reads --role=reader --serviceaccount=" + NAMESPACE + ":robot")
    run("create token robot --duration=10m")
    run("create service clusterip web --tcp=80:8080")
    run("create job once --image=train:1 -- true")
    run("run lonely --image=train:1 --restart=Never --labels=app=lonely")
    run("expose pod lonely --port=80")


def _shown(run: Kubectl) -> None:
    for form in ("wide", "yaml", "json", "name", "jsonpath={.items[*].metadata.name}", "custom-columns=N:.metadata.name"):
        run(f"get pytorchjobs -o {form}")
    for what in ("pods", "pods -A", "all", "configmaps,secrets", "pytorchjob torch --show-labels", "pods -l app=lonely"):
        run(f"get {what}")
    run("get pods --field-selector=status.phase=Pending --sort-by=.metadata.name")
    run("get pods --chunk-size=1")
    run("get pytorchjob none", fails=True)
    run("get nothings", fails=True)
    run("get pods --watch --request-timeout=2s", fails=True)
    run("get events --sort-by=.lastTimestamp")
    for what in (
        "pytorchjob torch",
        "pod lonely",
        "service web",
        "configmap made",
        "secret hidden",
        "job once",
        "serviceaccount robot",
    ):
        run(f"describe {what}")
    run("events")
    for what in ("pytorchjob.spec", "pod.spec.containers", "pytorchjob.spec.runPolicy", "job --recursive"):
        run(f"explain {what}")
    run("logs lonely", fails=True)
    run("top pods", fails=True)


def _changed(run: Kubectl) -> None:
    run("label pytorchjob torch colour=red")
    run("label pytorchjob torch colour=blue --overwrite")
    run("label pods -l app=lonely tier=front")
    run("annotate pytorchjob torch note=it")
    run("annotate pytorchjob torch note-")
    run('patch pytorchjob torch --type=merge -p {"spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":1}}}}')
    run('patch pytorchjob torch --type=json -p [{"op":"add","path":"/metadata/labels/x","value":"y"}]')
    run('patch pod lonely -p {"metadata":{"labels":{"z":"w"}}}')
    run('patch configmap made --type=strategic -p {"data":{"k":"w"}}')
    run("scale pytorchjob/torch --replicas=2")
    run("scale pytorchjob/torch --current-replicas=7 --replicas=3", fails=True)
    run("edit pytorchjob torch")
    run("set image pod/lonely lonely=train:2")
    condition = '{"status":{"conditions":[{"type":"Succeeded","status":"True","reason":"r","message":"m"}]}}'
    run(f"patch pytorchjob torch --subresource=status --type=merge -p {condition}")
    run("wait --for=condition=Succeeded pytorchjob/torch --timeout=20s")
    run("wait --for=jsonpath={.status.phase}=Pending pod/lonely --timeout=20s")
    run("autoscale pytorchjob/torch --min=1 --max=3 --cpu-percent=50", fails=True)


def _applied(run: Kubectl) -> None:
    run("apply -f -", CONFIG)
    run("apply -f -", CONFIG)
    run("apply -f -", {**CONFIG, "data": {"b": "2"}})
    run("diff -f -", {**CONFIG, "data": {"c": "3"}}, fails=True)
    run("apply -f - --dry-run=server", {**CONFIG, "data": {"c": "3"}})
    other = {**CONFIG, "metadata": {"name": "owned"}}
    run("apply --server-side -f -", other)
    run("apply --server-side --field-manager=other -f -", {**other, "data": {"a": "9"}}, fails=True)
    run("apply --server-side --field-manager=other --force-conflicts -f -", {**other, "data": {"a": "9"}})
    run("apply --server-side -f -", CONFIG, fails=True)
    jax = manifests.job("JAXJob", "jax", Worker=1)
    run("apply -f -", jax)
    jax["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] = 2
    run("apply -f -", jax)
    run("diff -f -", jax, fails=True)
    run("apply --server-side -f -", manifests.job("XGBoostJob", "boost", Master=1, Worker=1))
    run("replace -f -", {**CONFIG, "data": {"d": "4"}})
    run("replace --force -f -", {**CONFIG, "data": {"e": "5"}})
    run("get configmap owned -o yaml --show-managed-fields")


def _asked(run: Kubectl) -> None:
    run("api-resources")
    run("api-resources --api-group=kubeflow.org -o wide")
    run("api-versions")
    run("version")
    run("auth can-i create pytorchjobs.kubeflow.org")
    run("auth can-i --list")
    run("auth can-i get pods --as=system:serviceaccount:" + NAMESPACE + ":robot")
    run("auth can-i delete pods --as=system:serviceaccount:" + NAMESPACE + ":robot", fails=True)
    run("auth whoami")
    run("get --raw /healthz")
    run("get crd pytorchjobs.kubeflow.org")
    run("get namespace " + NAMESPACE)


def _deleted(run: Kubectl) -> None:
    run("delete pod lonely --wait=false --now")
    run("delete pods --all --grace-period=0 --force")
    run("delete pytorchjob torch")
    run("delete jaxjob jax --cascade=foreground")
    run("delete xgboostjob boost --cascade=orphan")
    run("delete job once --cascade=background --wait=false")
    run("delete configmap -l none=none")
    run("delete configmap made settings owned")
    run("delete configmap made", fails=True)
    run("delete configmap made --ignore-not-found")
    run("wait --for=delete configmap/made --timeout=10s")
    run("delete service web lonely")
