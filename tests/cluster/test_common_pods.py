"""Pods and services of a new job, for every kind with services: names, labels, owners, ports, templates."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster import jobs_with_services, manifests
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.jobs_with_services import PORTS, REPLICAS, every_kind
from tests.cluster.manifests import CONTAINERS
from tests.cluster.submitted_job import PREFIX, Submit, SubmittedJob, env, labels
from tools.kube import cluster


def made(job: SubmittedJob, names: set[str]) -> dict[str, Object]:
    """The job's pods, once exactly these are there."""
    found: dict[str, Object] = eventually(lambda: (pods := job.pods()).keys() == names and pods, because=f"not just {names}")
    return found


def service(job: SubmittedJob, name: str) -> Object:
    found: Object = eventually(lambda: job.api.find("services", job.namespace, name), because=f"no service {name}")
    return found


def ports(job: SubmittedJob, name: str) -> dict[str, int]:
    return {entry["name"]: entry["port"] for entry in service(job, name)["spec"]["ports"]}


def address(kind: str, role: str, index: int) -> dict[str, str]:
    found = {"operator-name": f"{kind.lower()}-controller", "job-name": "j", "replica-type": role, "replica-index": str(index)}
    return {PREFIX + key: value for key, value in found.items()}


def owner(job: SubmittedJob, version: str = "v1") -> Object:
    found = {"apiVersion": f"kubeflow.org/{version}", "kind": job.kind, "name": job.name, "uid": job.uid}
    return {**found, "controller": True, "blockOwnerDeletion": True}


@every_kind
@pytest.mark.checklist(34)
def test_pods_are_named_after_job_role_and_index(submit: Submit, kind: str) -> None:
    job = submit(jobs_with_services.job(kind))

    made(job, jobs_with_services.names(kind))

    consistently(lambda: job.pods().keys() == jobs_with_services.names(kind), 0.3)


@every_kind
@pytest.mark.checklist(35)
def test_pods_have_the_four_labels_that_identify_the_replica(submit: Submit, kind: str) -> None:
    pods = made(submit(jobs_with_services.job(kind)), jobs_with_services.names(kind))

    for role, index in jobs_with_services.replicas(kind):
        found = pods[f"j-{role}-{index}"]["metadata"]["labels"]
        found.pop(f"{PREFIX}job-role", None)
        assert found == address(kind, role, index)


@every_kind
@pytest.mark.checklist(36)
def test_the_job_is_the_one_owner_of_its_pods_and_services(submit: Submit, kind: str) -> None:
    job = submit(jobs_with_services.job(kind))

    for name, pod in made(job, jobs_with_services.names(kind)).items():
        assert pod["metadata"]["ownerReferences"] == [owner(job)]
        assert service(job, name)["metadata"]["ownerReferences"] == [owner(job)]


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
@pytest.mark.checklist(34, 35, 36)
def test_mpi_workers_have_such_names_labels_and_owners_too(submit: Submit, version: str) -> None:
    job = submit(manifests.job("MPIJob", version=version, Launcher=1, Worker=2))
    eventually(lambda: {"j-worker-0", "j-worker-1"} <= job.pods().keys())
    v1 = {"operator-name": "mpijob-controller", "replica-type": "worker"}
    v2 = {"operator-name": "mpi-operator", "job-role": "worker"}

    for index in range(2):
        pod = job.pods()[f"j-worker-{index}"]
        assert labels(pod) == {**(v1 if version == "v1" else v2), "job-name": "j", "replica-index": str(index)}
        assert pod["metadata"]["ownerReferences"] == [owner(job, version)]


@every_kind
@pytest.mark.checklist(37, 38)
def test_every_pod_has_a_headless_service_that_selects_it(submit: Submit, kind: str) -> None:
    job = submit(jobs_with_services.job(kind))

    eventually(lambda: job.services() == set(job.pods()) == jobs_with_services.names(kind))
    for role, index in jobs_with_services.replicas(kind):
        found = service(job, f"j-{role}-{index}")
        assert found["spec"]["clusterIP"] == "None"
        assert found["spec"]["selector"] == address(kind, role, index)
        assert found["metadata"]["labels"] == address(kind, role, index)
        assert [pod["metadata"]["name"] for pod in job.api.all("pods", job.namespace, _selector(found))] == [f"j-{role}-{index}"]


def _selector(service: Object) -> str:
    return ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())


@every_kind
@pytest.mark.checklist(39)
def test_without_ports_of_the_users_the_service_has_the_default_port_alone(submit: Submit, kind: str) -> None:
    job = submit(jobs_with_services.job(kind))

    for name, pod in made(job, jobs_with_services.names(kind)).items():
        assert ports(job, name) == dict([PORTS[kind]])
        assert _container_ports(pod, CONTAINERS[kind]) == dict([PORTS[kind]])


@every_kind
@pytest.mark.checklist(39)
def test_the_service_lists_every_port_of_the_training_container(submit: Submit, kind: str) -> None:
    own = [{"name": "http", "containerPort": 8080}, {"name": "grpc", "containerPort": 9090}]
    body = jobs_with_services.workers(kind, 1, ports=own)
    for spec in body["spec"][manifests.FIELDS[kind]].values():
        aside = {"name": "aside", "image": "aside:1", "ports": [{"name": "other", "containerPort": 7}]}
        spec["template"]["spec"]["containers"].append(aside)

    job = submit(body)

    assert ports(job, "j-worker-0") == {"http": 8080, "grpc": 9090, **dict([PORTS[kind]])}


@every_kind
@pytest.mark.checklist(39)
def test_a_port_without_a_name_does_not_keep_the_service_from_being_created(submit: Submit, kind: str) -> None:
    job = submit(jobs_with_services.workers(kind, 1, ports=[{"containerPort": 8080}]))

    assert set(ports(job, "j-worker-0").values()) == {8080, PORTS[kind][1]}


ENV_WITH_PORT: dict[str, dict[str, str]] = {
    "TFJob": {"TF_CONFIG": '"j-worker-1.{namespace}.svc:4321"'},
    "PyTorchJob": {"MASTER_PORT": "4321", "PET_MASTER_PORT": "4321"},
    "XGBoostJob": {"MASTER_PORT": "4321", "WORKER_PORT": "4321"},
    "PaddleJob": {"PADDLE_MASTER": "j-master-0:4321"},
    "JAXJob": {"COORDINATOR_PORT": "4321"},
}


@every_kind
@pytest.mark.checklist(40)
def test_a_user_port_of_the_default_name_takes_its_place(submit: Submit, kind: str) -> None:
    job = submit(jobs_with_services.job(kind, ports=[{"name": PORTS[kind][0], "containerPort": 4321}]))

    pods = made(job, jobs_with_services.names(kind))

    for name, pod in pods.items():
        assert _container_ports(pod, CONTAINERS[kind]) == {PORTS[kind][0]: 4321}
        assert ports(job, name) == {PORTS[kind][0]: 4321}
    found = env(pods["j-worker-1"])
    for name, text in ENV_WITH_PORT[kind].items():
        assert text.format(namespace=job.namespace) in (found[name] or ""), found[name]
    assert str(PORTS[kind][1]) not in str(found)


@every_kind
@pytest.mark.checklist(41)
def test_the_default_port_goes_to_the_training_container_wherever_it_stands(submit: Submit, kind: str) -> None:
    body = jobs_with_services.workers(kind, 1)
    for spec in body["spec"][manifests.FIELDS[kind]].values():
        spec["template"]["spec"]["containers"].insert(0, {"name": "first", "image": "first:1"})

    job = submit(body)

    eventually(lambda: "j-worker-0" in job.pods())
    pod = job.pods()["j-worker-0"]
    assert [container["name"] for container in pod["spec"]["containers"]] == ["first", CONTAINERS[kind]]
    assert _container_ports(pod, "first") == {}
    assert _container_ports(pod, CONTAINERS[kind]) == dict([PORTS[kind]])
    assert ports(job, "j-worker-0") == dict([PORTS[kind]])


def _container_ports(pod: Object, container: str) -> dict[str, int]:
    found = next(entry for entry in pod["spec"]["containers"] if entry["name"] == container)
    return {entry["name"]: entry["containerPort"] for entry in found.get("ports") or []}


@every_kind
@pytest.mark.checklist(42)
def test_labels_and_annotations_of_the_template_reach_the_pod(submit: Submit, kind: str) -> None:
    body = jobs_with_services.job(kind)
    for spec in body["spec"][manifests.FIELDS[kind]].values():
        given = {"team": "vision", f"{PREFIX}job-name": "another", f"{PREFIX}replica-index": "77"}
        spec["template"]["metadata"] = {"labels": given, "annotations": {"sidecar.istio.io/inject": "false"}}

    pods = made(submit(body), jobs_with_services.names(kind))

    for role, index in jobs_with_services.replicas(kind):
        found = pods[f"j-{role}-{index}"]["metadata"]
        assert found["annotations"] == {"sidecar.istio.io/inject": "false"}
        assert {**found["labels"], "team": "vision", **address(kind, role, index)} == found["labels"]


@every_kind
@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always", "ExitCode"])
@pytest.mark.checklist(43)
def test_exit_code_creates_a_pod_that_never_restarts_other_policies_are_copied(submit: Submit, kind: str, policy: str) -> None:
    pods = made(submit(jobs_with_services.job(kind, policy)), jobs_with_services.names(kind))

    found = {pod["spec"]["restartPolicy"] for pod in pods.values()}
    assert found == {"Never" if policy == "ExitCode" else policy}


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always", "ExitCode"])
@pytest.mark.checklist(43)
def test_so_it_is_for_mpi_jobs(submit: Submit, policy: str) -> None:
    roles: Object = {role: manifests.replicas("MPIJob", 1, policy) for role in ("Launcher", "Worker")}

    pods = made(submit(manifests.job("MPIJob", **roles)), {"j-launcher", "j-worker-0"})

    found = {pod["spec"]["restartPolicy"] for pod in pods.values()}
    assert found == {"Never" if policy == "ExitCode" else policy}


@every_kind
@pytest.mark.checklist(44)
def test_a_restart_policy_in_the_template_is_overridden_and_that_is_reported(submit: Submit, kind: str) -> None:
    body = jobs_with_services.job(kind, "OnFailure")
    for spec in body["spec"][manifests.FIELDS[kind]].values():
        spec["template"]["spec"]["restartPolicy"] = "Always"

    job = submit(body)

    pods = made(job, jobs_with_services.names(kind))
    assert {pod["spec"]["restartPolicy"] for pod in pods.values()} == {"OnFailure"}
    assert job.event("SetPodTemplateRestartPolicy")["type"] == "Warning"


@every_kind
@pytest.mark.parametrize("what", ["pod", "service"])
@pytest.mark.checklist(53)
def test_what_was_created_is_reported_by_events_on_the_job(submit: Submit, kind: str, what: str) -> None:
    job = submit(jobs_with_services.job(kind))
    reason = f"SuccessfulCreate{what.capitalize()}"

    eventually(lambda: _created_names(job, reason, f"Created {what}: ") == jobs_with_services.names(kind))

    for event in job.events(reason):
        about = event["involvedObject"]
        assert (about["apiVersion"], about["kind"], about["name"]) == ("kubeflow.org/v1", kind, "j")
        assert (event["type"], event["source"]["component"]) == ("Normal", f"{kind.lower()}-controller")


def _created_names(job: SubmittedJob, reason: str, what: str) -> set[str]:
    """The names in all events of a reason; one event may name several."""
    found = [event["message"] for event in job.events(reason)]
    assert all(message.startswith(what) for message in found)
    return {name for message in found for name in message.removeprefix(what).split(", ")}


STARTS: list[Any] = [
    *(pytest.param(jobs_with_services.job(kind), id=kind) for kind in REPLICAS),
    *(pytest.param(manifests.job("MPIJob", version=each, Launcher=1, Worker=2), id=each) for each in ("v1", "v2beta1")),
]


@pytest.mark.parametrize("body", STARTS)
def test_no_request_of_a_jobs_start_is_rejected(submit: Submit, kube: cluster.Cluster, body: Object) -> None:
    start = kube.audit_size()

    job = submit(body)

    job.event("SuccessfulCreatePod")
    mine = [entry for entry in kube.audit(start) if f"/namespaces/{job.namespace}/" in entry["requestURI"]]
    ours = [entry for entry in mine if entry["userAgent"].startswith("traincrew")]
    assert ours
    assert [entry["requestURI"] for entry in ours if entry["responseStatus"]["code"] >= 400] == []


ZEROES: list[Any] = [
    pytest.param("TFJob", {"PS": 0, "Worker": 2}, {"j-worker-0", "j-worker-1"}, id="TFJob"),
    pytest.param("XGBoostJob", {"Master": 1, "Worker": 0}, {"j-master-0"}, id="XGBoostJob"),
    pytest.param("PaddleJob", {"Master": 1, "Worker": 0}, {"j-master-0"}, id="PaddleJob"),
    pytest.param("JAXJob", {"Worker": 0}, set(), id="JAXJob"),
]


@pytest.mark.parametrize(("kind", "roles", "names"), ZEROES)
@pytest.mark.checklist(55)
def test_no_replicas_means_no_pod_and_no_service(submit: Submit, kind: str, roles: Object, names: set[str]) -> None:
    job = submit(manifests.job(kind, **roles))
    eventually(lambda: job.is_true("Created") and job.pods().keys() == names)

    consistently(lambda: job.pods().keys() == names and job.services() <= names, 0.5)

    assert job.services() == names
    assert not job.events("SuccessfulDeletePod")


@pytest.mark.checklist(55)
def test_scaled_to_none_a_role_keeps_no_pod(submit: Submit, api: Api, namespace: str) -> None:
    job = submit(manifests.job("TFJob", Chief=1, Worker=2))
    eventually(lambda: len(job.pods()) == 3)

    job.patch({"tfReplicaSpecs": {"Worker": {"replicas": 0}}})

    made(job, {"j-chief-0"})
    eventually(lambda: job.services() == {"j-chief-0"})
    consistently(lambda: job.pods().keys() == {"j-chief-0"}, 0.5)


def test_every_kind_with_services_is_covered() -> None:
    assert REPLICAS.keys() | {"MPIJob"} == manifests.CONTAINERS.keys()
