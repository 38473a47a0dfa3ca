"""Validation by schema and CEL, in the words of the Go operators' webhooks."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.cluster.api import Api, Object, rejected
from tests.validation import valid_manifests
from tests.validation.valid_manifests import minimal

from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind

WEBHOOK_KINDS = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.validation.server_rules], ids=lambda kind: kind.kind
)
DRY = {"dryRun": "All", "fieldValidation": "Strict"}


def last_role(kind: JobKind, document: Object) -> Object:
    role: Object = document["spec"][kind.replicas_field][kind.roles[-1].name]
    return role


@pytest.mark.checklist(15)
@WEBHOOK_KINDS
@pytest.mark.parametrize("name", ["1abc", "a.b", "a" * 64])
def test_a_name_that_is_not_a_dns_1035_label_is_rejected(api: Api, namespace: str, kind: JobKind, name: str) -> None:
    document = valid_manifests.job(kind)
    document["metadata"]["name"] = name
    with rejected(422, "metadata.name should match: a DNS-1035 label"):
        api.create(namespace, document, **DRY)


@pytest.mark.checklist(16)
@WEBHOOK_KINDS
@pytest.mark.parametrize("pod", [{"containers": []}, {}, None], ids=["empty", "missing", "no pod spec"])
def test_a_replica_type_without_containers_is_rejected(api: Api, namespace: str, kind: JobKind, pod: Object | None) -> None:
    document = valid_manifests.job(kind)
    last_role(kind, document)["template"] = {"spec": pod}
    with rejected(422, f"spec.{kind.replicas_field}.{kind.roles[-1].name}.template.spec"):
        api.create(namespace, document, **DRY)


@pytest.mark.checklist(17)
@WEBHOOK_KINDS
@pytest.mark.parametrize("image", [None, ""], ids=["missing", "empty"])
def test_a_container_without_image_is_rejected(api: Api, namespace: str, kind: JobKind, image: str | None) -> None:
    document = valid_manifests.job(kind)
    last_role(kind, document)["template"]["spec"]["containers"][1]["image"] = image
    with rejected(422, "containers[1].image"):
        api.create(namespace, document, **DRY)


@pytest.mark.checklist(18)
@WEBHOOK_KINDS
def test_every_replica_type_needs_the_container_of_the_kinds_name(api: Api, namespace: str, kind: JobKind) -> None:
    document = valid_manifests.job(kind)
    last_role(kind, document)["template"]["spec"]["containers"][0]["name"] = "other"
    with rejected(422, f"must have at least one container with name {kind.pods.container}"):
        api.create(namespace, document, **DRY)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param(minimal("PyTorchJob", Master=2), "Master replicas must be 1", marks=pytest.mark.checklist(19)),
        pytest.param(minimal("PyTorchJob", Worker=0), "Worker replicas must be at least 1", marks=pytest.mark.checklist(21)),
        pytest.param(minimal("PyTorchJob", Foo=1), "unsupported replica type", marks=pytest.mark.checklist(22)),
        pytest.param(minimal("XGBoostJob", Worker=1), "Master must be present", marks=pytest.mark.checklist(25)),
        pytest.param(minimal("XGBoostJob", Master=3), "Master replicas must be 1", marks=pytest.mark.checklist(25)),
        pytest.param(minimal("TFJob", Chief=1, Master=1), "more than 1 Chief or Master role", marks=pytest.mark.checklist(26)),
        pytest.param(minimal("JAXJob", Master=1), "unsupported replica type", marks=pytest.mark.checklist(28)),
        pytest.param(minimal("PaddleJob", Launcher=1), "unsupported replica type"),
    ],
)
def test_roles_and_their_numbers_are_checked(api: Api, namespace: str, document: Object, message: str) -> None:
    with rejected(422, message):
        api.create(namespace, document, **DRY)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(minimal("PyTorchJob", Master=None), id="a Master without a number", marks=pytest.mark.checklist(20)),
        pytest.param(minimal("PyTorchJob", Worker=None), id="workers without a number"),
        pytest.param(minimal("XGBoostJob", Master=None, Worker=0), id="XGBoost workers are not counted"),
        pytest.param(minimal("TFJob", worker=1), id="lower case", marks=pytest.mark.checklist(27)),
        pytest.param(minimal("TFJob", Sidekick=1), id="an unknown type of a TFJob"),
        pytest.param(minimal("PaddleJob", Worker=0), id="no Paddle workers"),
    ],
)
def test_what_the_webhooks_let_pass_is_accepted(api: Api, namespace: str, document: Object) -> None:
    api.create(namespace, document, **DRY)


@pytest.mark.parametrize(
    "specs",
    [
        {},
        {"Worker": {"replicas": 1}},
        {"Launcher": {"replicas": 2, "template": {}}},
        {"Launcher": {"restartPolicy": "Always"}},
        {"Other": {"template": {"spec": {"containers": [{"name": "a"}]}}}},
    ],
)
@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_no_rule_rejects_an_mpijob_whose_violations_are_reported_by_event(
    api: Api, namespace: str, specs: Object, version: str
) -> None:
    document = {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": {"name": "1.j"}}
    api.create(namespace, {**document, "spec": {"mpiReplicaSpecs": specs}}, **DRY)


@pytest.mark.checklist(23)
def test_an_elastic_policy_needs_workers(api: Api, namespace: str) -> None:
    document = minimal("PyTorchJob", Master=1)
    document["spec"]["elasticPolicy"] = {}
    with rejected(422, "pytorchReplicaSpecs[Worker] must be configured if elastic policy is used"):
        api.create(namespace, document, **DRY)


@pytest.mark.checklist(24)
def test_processes_per_node_are_given_in_one_place(api: Api, namespace: str) -> None:
    document = minimal("PyTorchJob", Worker=1)
    document["spec"]["elasticPolicy"] = {"nProcPerNode": 2}
    api.create(namespace, document, **DRY)
    document["spec"]["nprocPerNode"] = "2"
    with rejected(422, "elasticPolicy.nProcPerNode must not be used with spec.nprocPerNode"):
        api.create(namespace, document, **DRY)


@pytest.mark.checklist(29)
@WEBHOOK_KINDS
def test_only_known_managers_are_accepted(api: Api, namespace: str, kind: JobKind) -> None:
    document = valid_manifests.job(kind)
    for manager in ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"):
        document["spec"]["runPolicy"]["managedBy"] = manager
        api.create(namespace, document, **DRY)
    for manager in ("foo", ""):
        document["spec"]["runPolicy"]["managedBy"] = manager
        with rejected(422, "unsupported value of managedBy"):
            api.create(namespace, document, **DRY)


@pytest.mark.checklist(30)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_manager_cannot_be_changed(api: Api, namespace: str, kind: JobKind) -> None:
    document = valid_manifests.job(kind)
    document["spec"]["runPolicy"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    stored = api.create(namespace, document)
    for manager in ("kubeflow.org/training-operator", None):
        with rejected(422, "managedBy: field is immutable"):
            api.patch(kind.plural, namespace, stored["metadata"]["name"], {"spec": {"runPolicy": {"managedBy": manager}}})


@pytest.mark.checklist(10)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_queue_can_be_set_and_removed_but_not_changed(api: Api, namespace: str, kind: JobKind) -> None:
    document = valid_manifests.job(kind)
    document["spec"]["runPolicy"] = {"managedBy": "kueue.x-k8s.io/multikueue", "schedulingPolicy": {"queue": "a"}}
    name = api.create(namespace, document)["metadata"]["name"]

    def queue(value: str | None) -> None:
        api.patch(kind.plural, namespace, name, {"spec": {"runPolicy": {"schedulingPolicy": {"queue": value}}}})

    with rejected(422, "spec.runPolicy.schedulingPolicy.queue is immutable"):
        queue("b")
    queue(None)
    queue("b")


@pytest.mark.checklist(11)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_spec_without_its_replicas_is_rejected(api: Api, namespace: str, kind: JobKind) -> None:
    document = valid_manifests.job(kind)
    del document["spec"][kind.replicas_field]
    with rejected(422, f"spec.{kind.replicas_field}: Required value"):
        api.create(namespace, document, dryRun="All")


@pytest.mark.checklist(8)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
@pytest.mark.parametrize("policy", [{}, None, "missing"], ids=str)
def test_suspend_is_defaulted_and_nothing_else_of_ours(api: Api, namespace: str, kind: JobKind, policy: Any) -> None:
    document = valid_manifests.job(kind)
    document["spec"]["runPolicy"] = policy
    if policy == "missing":
        del document["spec"]["runPolicy"]
    before = copy.deepcopy(document["spec"])
    stored = api.create(namespace, document, dryRun="All")["spec"]
    assert stored.pop("runPolicy") == {"suspend": False}
    before.pop("runPolicy", None)
    for role in before[kind.replicas_field].values():
        for port in role["template"]["spec"]["containers"][0]["ports"]:
            port.setdefault("protocol", "TCP")  # a list's keys must be there for lists to be merged by them
    assert stored == before


@pytest.mark.checklist(14)
@pytest.mark.parametrize("name", ["TFJob", "PyTorchJob"])
def test_the_older_places_of_policies_pass_strict_validation(api: Api, namespace: str, name: str) -> None:
    document = minimal(name, Worker=1)
    older = {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 60, "activeDeadlineSeconds": 600, "backoffLimit": 3}
    document["spec"] |= older
    stored = api.create(namespace, document, **DRY)
    assert older.items() <= stored["spec"].items()


def test_wrong_types_deep_in_a_template_are_rejected(api: Api, namespace: str) -> None:
    document = minimal("JAXJob")
    container = document["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    for field, value in {"image": 5, "env": [{"name": "A", "value": 1}], "resources": {"limits": {"cpu": "2 cores"}}}.items():
        damaged = copy.deepcopy(document)
        damaged["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0] = {**container, field: value}
        with rejected(422, f"containers[0].{field}"):
            api.create(namespace, damaged, **DRY)


def test_misspelled_fields_outside_the_template_are_rejected_by_strict_clients(api: Api, namespace: str) -> None:
    document = minimal("JAXJob")
    document["spec"]["runPolcy"] = {}
    with rejected(400, 'unknown field "spec.runPolcy"'):
        api.create(namespace, document, **DRY)


def test_a_negative_number_of_workers_is_rejected_where_there_is_scale(api: Api, namespace: str) -> None:
    for kind in KINDS:
        document = minimal(kind.kind, **{kind.roles[0].name: 1, "Worker": -1})
        if kind.crd.scalable:
            with rejected(422, "Worker.replicas"):
                api.create(namespace, document, **DRY)
