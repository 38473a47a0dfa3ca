"""Verdicts on single jobs. That they are the API server's own is shown by the cluster suite."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.validation import mutations, valid_manifests
from tests.validation.valid_manifests import BY_NAME, minimal

from traincrew.apimachinery import findings
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.validation import job_review

Manifest = dict[str, Any]
WEBHOOK_KINDS = pytest.mark.parametrize("kind", [k for k in KINDS if k.validation.server_rules], ids=lambda kind: kind.kind)


def errors(document: Manifest) -> dict[str, str]:
    return {findings.render(found.path): found.message for found in job_review.review(document).errors}


@pytest.mark.parametrize("document", valid_manifests.jobs(), ids=lambda document: document["kind"])
def test_a_rich_valid_job_is_accepted_without_a_word(document: Manifest) -> None:
    found = job_review.review(document)
    assert (found.errors, found.unknown, found.faults) == ((), (), ())
    assert found.stored is not None
    assert found.stored.metadata.name == document["metadata"]["name"]


@WEBHOOK_KINDS
@pytest.mark.parametrize("name", ["1abc", "a.b", "Abc", "a" * 64, "a_b", "-a"])
def test_a_name_that_is_no_dns_label_is_refused(kind: JobKind, name: str) -> None:
    document = valid_manifests.job(kind)
    document["metadata"]["name"] = name
    assert list(errors(document)) == ["metadata.name"]


def test_a_name_is_required_and_may_be_generated() -> None:
    document = minimal("JAXJob")
    document["metadata"] = {}
    assert errors(document) == {"metadata.name": "name or generateName is required"}
    document["metadata"] = {"generateName": "j-"}
    assert errors(document) == {}
    document["metadata"] = {"generateName": "1-"}
    assert "metadata.name" in errors(document)


@WEBHOOK_KINDS
@pytest.mark.parametrize(
    ("damage", "path", "message"),
    [
        pytest.param(lambda role: role.pop("template"), "template", "is required", id="no template"),
        pytest.param(lambda role: role["template"].pop("spec"), "template.spec", "is required", id="no pod spec"),
        pytest.param(
            lambda role: role["template"]["spec"].update(containers=[]),
            "template.spec.containers",
            "must have at least 1 item",
            id="no containers",
        ),
        pytest.param(
            lambda role: role["template"]["spec"]["containers"][0].pop("image"),
            "template.spec.containers[0].image",
            "is required",
            id="no image",
        ),
        pytest.param(
            lambda role: role["template"]["spec"]["containers"][0].update(image=""),
            "template.spec.containers[0].image",
            "must not be empty",
            id="empty image",
        ),
        pytest.param(
            lambda role: role["template"]["spec"]["containers"][0].update(name="other"),
            "template.spec.containers",
            "must have at least one container with name",
            id="no container of the kind's name",
        ),
    ],
)
def test_every_replica_type_needs_the_kinds_container_with_an_image(kind: JobKind, damage: Any, path: str, message: str) -> None:
    document = valid_manifests.job(kind)
    role = kind.roles[-1].name
    damage(document["spec"][kind.replicas_field][role])
    found = errors(document)
    assert list(found) == [f"spec.{kind.replicas_field}.{role}.{path}"]
    assert found[f"spec.{kind.replicas_field}.{role}.{path}"].startswith(message)


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        (minimal("PyTorchJob", Master=2), "spec.pytorchReplicaSpecs.Master.replicas", "must be 1, got 2"),
        (minimal("PyTorchJob", Master=1, Worker=0), "spec.pytorchReplicaSpecs.Worker.replicas", "must be at least 1, got 0"),
        (minimal("PyTorchJob", Worker=1, Foo=1), "spec.pytorchReplicaSpecs.Foo", "unsupported replica type 'Foo'"),
        (minimal("XGBoostJob", Worker=1), "spec.xgbReplicaSpecs.Master", "must be present"),
        (minimal("XGBoostJob", Master=2), "spec.xgbReplicaSpecs.Master.replicas", "must be 1, got 2"),
        (minimal("TFJob", Chief=1, Master=1), "spec.tfReplicaSpecs", "must not have more than 1 Chief or Master role"),
        (minimal("JAXJob", Worker=1, Master=1), "spec.jaxReplicaSpecs.Master", "unsupported replica type 'Master'"),
        (minimal("PaddleJob", Launcher=1), "spec.paddleReplicaSpecs.Launcher", "unsupported replica type 'Launcher'"),
    ],
)
def test_roles_and_their_numbers_are_checked_as_the_webhooks_did(document: Manifest, path: str, message: str) -> None:
    found = errors(document)
    assert list(found) == [path]
    assert found[path].startswith(message)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(minimal("PyTorchJob", Master=None, Worker=2), id="a Master without a number"),
        pytest.param(minimal("XGBoostJob", master=1, worker=1), id="keys in lower case"),
        pytest.param(minimal("TFJob", worker=1, ps=1), id="TFJob keys in lower case"),
        pytest.param(minimal("TFJob", Sidekick=1), id="TFJob with an unknown replica type"),
        pytest.param(minimal("PaddleJob", Worker=0), id="Paddle numbers are not checked"),
        pytest.param(minimal("MPIJob", Worker=1), id="MPIJob without a launcher"),
        pytest.param(minimal("MPIJob", Launcher=2), id="MPIJob with two launchers"),
        pytest.param(minimal("MPIJob", Launcher={}), id="MPIJob without a template"),
    ],
)
def test_what_the_go_operators_let_pass_is_not_refused(document: Manifest) -> None:
    assert errors(document) == {}


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (minimal("TFJob", Sidekick=1), "spec.tfReplicaSpecs.Sidekick"),
        (minimal("TFJob", Worker=1, worker=1), "spec.tfReplicaSpecs.worker"),
        (minimal("MPIJob", Worker=1), "spec.mpiReplicaSpecs.Launcher"),
        (minimal("MPIJob", Launcher=2), "spec.mpiReplicaSpecs.Launcher.replicas"),
        ({**minimal("JAXJob"), "metadata": {"name": "x" * 60}}, "metadata.name"),
        ({**minimal("JAXJob"), "spec": {"jaxReplicaSpecs": {}}}, "spec.jaxReplicaSpecs"),
    ],
)
def test_what_is_accepted_but_cannot_run_is_reported_as_a_fault(document: Manifest, path: str) -> None:
    found = job_review.review(document)
    assert found.accepted
    assert [findings.render(fault.path) for fault in found.faults] == [path]


def test_an_elastic_pytorchjob_needs_workers_and_one_place_for_its_processes() -> None:
    document = minimal("PyTorchJob", Master=1)
    document["spec"]["elasticPolicy"] = {"nProcPerNode": 2}
    document["spec"]["nprocPerNode"] = "2"
    assert set(errors(document)) == {"spec.pytorchReplicaSpecs.Worker", "spec.elasticPolicy.nProcPerNode"}


def test_the_deprecated_field_of_processes_per_node_is_reported_as_a_warning() -> None:
    document = minimal("PyTorchJob", Worker=1)
    document["spec"]["elasticPolicy"] = {"nProcPerNode": 2}
    found = job_review.review(document)
    assert found.accepted
    assert [str(warning) for warning in found.warnings] == [
        "spec.elasticPolicy.nProcPerNode: is deprecated, use spec.nprocPerNode instead"
    ]


@WEBHOOK_KINDS
def test_managed_by_has_two_values(kind: JobKind) -> None:
    document = valid_manifests.job(kind)
    for manager, accepted in {"kueue.x-k8s.io/multikueue": True, "foo": False, "": False}.items():
        document["spec"]["runPolicy"]["managedBy"] = manager
        assert job_review.review(document).accepted is accepted


def test_defaults_are_those_of_the_crd_and_nothing_else() -> None:
    found = job_review.review(minimal("TFJob"))
    assert found.document["spec"] == {**minimal("TFJob")["spec"], "runPolicy": {"suspend": False}}


def test_nulls_vanish_where_the_schema_allows_none_and_are_wrong_in_lists() -> None:
    document = minimal("TFJob")
    document["spec"]["runPolicy"] = None
    document["spec"]["tfReplicaSpecs"]["PS"] = None
    found = job_review.review(document)
    assert found.accepted
    assert found.document["spec"] == {**minimal("TFJob")["spec"], "runPolicy": {"suspend": False}}
    document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"].append(None)
    assert list(errors(document)) == ["spec.tfReplicaSpecs.Worker.template.spec.containers[1]"]


def test_unknown_fields_are_dropped_and_reported_but_kept_in_the_template() -> None:
    document = minimal("TFJob")
    document["spec"]["runpolicy"] = {}
    document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["fromTheFuture"] = True
    document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["tolerations_"] = []
    found = job_review.review(document)
    assert found.accepted
    assert "runpolicy" not in found.document["spec"]
    assert [str(field) for field in found.unknown] == ["spec.runpolicy: unknown field 'runpolicy'; did you mean 'runPolicy'?"]
    template = found.document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    assert template["fromTheFuture"] is True
    assert [str(fault).rpartition("; ")[2] for fault in found.faults] == ["did you mean 'tolerations'?"]
    assert len(found.warnings) == 1


def test_all_errors_are_reported_at_once() -> None:
    document = minimal("PyTorchJob", Mastr=1, Worker=0)
    document["metadata"] = {"name": "1abc", "labels": {"a b": "c"}}
    document["spec"]["runPolicy"] = {"suspend": "yes"}
    document["spec"]["pytorchReplicaSpecs"]["Mastr"]["template"]["spec"]["containers"][0]["image"] = 5
    assert set(errors(document)) == {
        "metadata.name",
        "metadata.labels[a b]",
        "spec.runPolicy.suspend",
        "spec.pytorchReplicaSpecs.Mastr",
        "spec.pytorchReplicaSpecs.Mastr.template.spec.containers[0].image",
        "spec.pytorchReplicaSpecs.Worker.replicas",
    }


@pytest.mark.parametrize(("version", "contract"), [("v1", "v1"), ("v2beta1", "v2beta1")])
def test_the_version_an_mpijob_is_posted_through_decides_its_contract(version: str, contract: str) -> None:
    kind = BY_NAME["MPIJob"]
    found = job_review.review(valid_manifests.job(kind, version))
    assert found.stored is not None
    assert kind.following(found.stored).version == contract


def test_more_processes_than_slots_are_warned_of() -> None:
    document = minimal("MPIJob", Launcher=1, Worker=2)
    launcher = document["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    launcher["command"], launcher["args"] = ["horovodrun"], ["-np", "2", "python", "-n", "9"]
    assert job_review.review(document).warnings == ()
    launcher["args"][1] = "3"
    assert "starts 3 processes, but the job has 2 slots" in str(job_review.review(document).warnings[0])


def test_an_elastic_launcher_with_one_worker_is_warned_of() -> None:
    """Horovod compares the network interfaces of two hosts before it starts, unless they are named."""
    document = minimal("MPIJob", Launcher=1, Worker=1)
    launcher = document["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    flags = ["-np", "1", "--min-np", "1", "--max-np", "3", "--host-discovery-script", "/etc/mpi/discover_hosts.sh"]
    launcher["command"], launcher["args"] = ["horovodrun"], [*flags, "python"]
    assert "waits for a second worker before it starts: scale the job" in str(job_review.review(document).warnings[0])
    launcher["args"] = [*flags, "--network-interfaces", "eth0", "python"]
    assert job_review.review(document).warnings == ()
    launcher["args"] = [*flags, "python"]
    document["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = 2
    assert job_review.review(document).warnings == ()


def test_a_posted_document_is_left_as_it_is() -> None:
    document = valid_manifests.job(BY_NAME["PyTorchJob"])
    document["spec"]["unknown"] = None
    before = copy.deepcopy(document)
    job_review.review(document)
    assert document == before


def test_numbers_that_pass_for_integers_on_the_api_server_pass_here() -> None:
    document = minimal("PaddleJob", Master=1.0000000001, Worker=1)
    document["spec"]["runPolicy"] = {"backoffLimit": 3.0, "ttlSecondsAfterFinished": 2**40}
    found = job_review.review(document)
    assert found.stored is not None
    assert found.stored.spec.run_policy.backoff_limit == 3
    assert list(errors(minimal("PaddleJob", Worker=1.0))) == ["spec.paddleReplicaSpecs.Worker.replicas"]
    assert list(errors(minimal("XGBoostJob", Master=1.0))) == ["spec.xgbReplicaSpecs.Master.replicas"]
    assert list(errors(minimal("TFJob", Worker=1.5))) == ["spec.tfReplicaSpecs.Worker.replicas"]


@pytest.mark.parametrize("time", ["2024-01-01T0:00:00Z", "2024-01-01T00:00:00,5Z", "2024-12-31T23:59:59.123456789+14:00"])
def test_times_are_read_as_go_reads_them(time: str) -> None:
    document = minimal("JAXJob")
    document["metadata"]["creationTimestamp"] = time
    assert job_review.review(document).accepted


def test_no_mutation_breaks_the_review() -> None:
    for seed in range(500):
        found = job_review.review(mutations.manifest(seed))
        assert found.accepted is (found.stored is not None)
