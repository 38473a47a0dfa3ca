"""Recorded sessions of Python clients: the kubeflow-training SDK and the official client."""

from __future__ import annotations

import copy
import pathlib
from typing import Any

import kubernetes.client
import kubernetes.config
import kubernetes.watch
from kubeflow.training import TrainingClient
from tests.cluster import manifests
from tests.cluster.api import Api
from tests.differential.client_sessions import RecordedKubelet, create_namespace
from tests.differential.recording import NAMESPACE

SUCCEEDED = {"type": "Succeeded", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2001-01-01T00:00:00Z"}


def train(parameters: dict[str, str]) -> None:
    print(parameters)


def sdk(recorded: pathlib.Path, direct: pathlib.Path) -> None:
    """Typical calls of the SDK. The session plays the operator."""
    api = Api(recorded)
    create_namespace(api)
    client = TrainingClient(config_file=str(recorded), namespace=NAMESPACE, job_kind="PyTorchJob")
    client.create_job(name="torch", train_func=train, parameters={"a": "b"}, num_workers=2, packages_to_install=["einops"])
    labels = {"training.kubeflow.org/job-name": "torch", "training.kubeflow.org/job-role": "master"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "torch-master-0", "labels": labels}}
    api.create(NAMESPACE, {**pod, "spec": {"containers": [{"name": "pytorch", "image": "train:1"}]}})
    client.list_jobs()
    client.get_job("torch")
    client.get_job_pods("torch")
    client.get_job_pod_names("torch", is_master=True)
    client.is_job_running("torch")
    client.get_job_conditions("torch")
    api.patch("pytorchjobs", NAMESPACE, "torch", {"status": {"conditions": [SUCCEEDED]}}, "status")
    client.wait_for_job_conditions("torch", wait_timeout=20, polling_interval=1)
    job = copy.deepcopy(client.get_job("torch"))
    job.spec.pytorch_replica_specs["Worker"].replicas = 3
    client.update_job(job, "torch")
    client.delete_job("torch")
    for kind in ("TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"):
        other = TrainingClient(config_file=str(recorded), namespace=NAMESPACE, job_kind=kind)
        roles: dict[str, Any] = {"Master": 1} if kind == "XGBoostJob" else {"Launcher": 1} if kind == "MPIJob" else {}
        api.create(NAMESPACE, manifests.job(kind, "other", Worker=1, **roles))
        other.get_job("other")
        other.list_jobs()
        other.delete_job("other")


def official(recorded: pathlib.Path, direct: pathlib.Path) -> None:
    create_namespace(Api(recorded))
    connected = kubernetes.config.new_client_from_config(str(recorded))
    core, batch = kubernetes.client.CoreV1Api(connected), kubernetes.client.BatchV1Api(connected)
    _core_objects(core)
    _jobs(batch)
    _custom_objects(kubernetes.client.CustomObjectsApi(connected))
    kubelet = RecordedKubelet(Api(recorded), Api(direct))
    _pods(core, kubelet)
    kubernetes.client.VersionApi(connected).get_code()


def _core_objects(core: kubernetes.client.CoreV1Api) -> None:
    named = kubernetes.client.V1ObjectMeta(name="settings", labels={"a": "b"})
    created = core.create_namespaced_config_map(NAMESPACE, kubernetes.client.V1ConfigMap(metadata=named, data={"k": "v"}))
    created.data = {"k": "w"}
    core.replace_namespaced_config_map("settings", NAMESPACE, created)
    core.patch_namespaced_config_map("settings", NAMESPACE, {"data": {"l": "m"}})
    core.list_namespaced_config_map(NAMESPACE, label_selector="a=b")
    core.delete_namespaced_config_map("settings", NAMESPACE)
    ports = [kubernetes.client.V1ServicePort(port=80)]
    spec = kubernetes.client.V1ServiceSpec(ports=ports, selector={"a": "b"}, cluster_ip="None")
    core.create_namespaced_service(NAMESPACE, {"metadata": {"name": "web"}, "spec": connected_form(core, spec)})
    core.read_namespaced_service("web", NAMESPACE)
    core.delete_namespaced_service("web", NAMESPACE)


def connected_form(core: kubernetes.client.CoreV1Api, model: object) -> object:
    return core.api_client.sanitize_for_serialization(model)


def _jobs(batch: kubernetes.client.BatchV1Api) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    batch.create_namespaced_job(NAMESPACE, {"metadata": {"generateName": "once-"}, "spec": {"template": template}})
    job = batch.list_namespaced_job(NAMESPACE).items[0]
    batch.read_namespaced_job_status(job.metadata.name, NAMESPACE)
    batch.delete_namespaced_job(job.metadata.name, NAMESPACE, propagation_policy="Background")


def _custom_objects(custom: kubernetes.client.CustomObjectsApi) -> None:
    place_of = ("kubeflow.org", "v1", NAMESPACE, "pytorchjobs")
    custom.create_namespaced_custom_object(*place_of, manifests.job("PyTorchJob", "torch", Master=1, Worker=1))
    custom.list_namespaced_custom_object(*place_of)
    custom.patch_namespaced_custom_object(*place_of, "torch", {"spec": {"runPolicy": {"suspend": True}}})
    custom.patch_namespaced_custom_object_status(*place_of, "torch", {"status": {"conditions": [SUCCEEDED]}})
    custom.get_namespaced_custom_object(*place_of, "torch")
    custom.get_namespaced_custom_object_scale(*place_of, "torch")
    custom.delete_namespaced_custom_object(*place_of, "torch")


def _pods(core: kubernetes.client.CoreV1Api, kubelet: RecordedKubelet) -> None:
    body = {"metadata": {"name": "lonely"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    created = core.create_namespaced_pod(NAMESPACE, body)
    watch = kubernetes.watch.Watch()
    seen = 0
    version = created.metadata.resource_version
    kubelet.run("lonely")
    for event in watch.stream(core.list_namespaced_pod, NAMESPACE, resource_version=version, timeout_seconds=20):
        seen += 1
        if event["object"].status.phase == "Running":
            watch.stop()
    assert seen
    core.read_namespaced_pod_status("lonely", NAMESPACE)
    core.delete_namespaced_pod("lonely", NAMESPACE, grace_period_seconds=5)
    core.delete_namespaced_pod("lonely", NAMESPACE, grace_period_seconds=0)
