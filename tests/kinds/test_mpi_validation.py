"""Violations in MPIJobs of both versions, which the operator reports and the API server does not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kinds.replicas import defaulted
from tests.planner import manifests

from traincrew.kinds import violations

Manifest = dict[str, Any]


def reported(manifest: Manifest) -> list[str]:
    kind, job = defaulted(manifest)
    found = violations.of_job(kind, job)
    assert not any(violation.server for violation in found)
    return [f"{violation.path}: {violation.message}" for violation in found]


def with_container(manifest: Manifest, role: str, containers: list[Manifest]) -> Manifest:
    manifest["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"] = containers
    return manifest


both_versions = pytest.mark.parametrize("job", [lambda **roles: manifests.job("MPIJob", **roles), manifests.ssh_job])


@both_versions
def test_a_launcher_and_workers_are_valid(job: Any) -> None:
    assert reported(job(Launcher=1, Worker=2)) == []


@both_versions
@pytest.mark.parametrize(
    ("roles", "violation"),
    [
        ({"Worker": 1}, "spec.mpiReplicaSpecs[Launcher]: must be present"),
        ({"Launcher": 2, "Worker": 1}, "spec.mpiReplicaSpecs[Launcher].replicas: must be 1, got 2"),
    ],
)
def test_there_is_exactly_one_launcher(job: Any, roles: dict[str, int], violation: str) -> None:
    assert reported(job(**roles)) == [violation]


@both_versions
def test_replica_types_are_spelt_in_their_own_case(job: Any) -> None:
    assert reported(job(Launcher=1, Worker=1, worker=1)) == [
        "spec.mpiReplicaSpecs[worker]: unsupported replica type 'worker', must be one of Launcher, Worker; did you mean 'Worker'?"
    ]


@both_versions
def test_a_role_needs_containers(job: Any) -> None:
    manifest = with_container(job(Launcher=1, Worker=1), "Worker", [])
    assert reported(manifest) == ["spec.mpiReplicaSpecs[Worker].template.spec.containers: must be specified"]


def test_only_v1_requires_an_image_because_a_webhook_may_set_it() -> None:
    v1 = with_container(manifests.job("MPIJob", Launcher=1, Worker=1), "Worker", [{"name": "a"}])
    assert reported(v1) == ["spec.mpiReplicaSpecs[Worker].template.spec.containers[0].image: must be required"]
    assert reported(with_container(manifests.ssh_job(Launcher=1, Worker=1), "Worker", [{"name": "a"}])) == []


def test_v1_may_have_no_workers() -> None:
    assert reported(manifests.job("MPIJob", Launcher=1, Worker=0)) == []
    assert reported(manifests.job("MPIJob", Launcher=1, Worker=-1)) == [
        "spec.mpiReplicaSpecs[Worker].replicas: must be at least 0, got -1"
    ]


def test_v2beta1_needs_at_least_one_worker_and_their_number() -> None:
    path = "spec.mpiReplicaSpecs[Worker].replicas"
    assert reported(manifests.ssh_job(Launcher=1, Worker=0)) == [f"{path}: must be at least 1, got 0"]
    job = manifests.ssh_job(Launcher=1, Worker=1)
    del job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
    assert reported(job) == [f"{path}: must be specified"]


@pytest.mark.parametrize(
    ("spec", "violation"),
    [
        ({"slotsPerWorker": -1}, "spec.slotsPerWorker: must be at least 0, got -1"),
        ({"sshAuthMountPath": ""}, "spec.sshAuthMountPath: must not be empty"),
        (
            {"mpiImplementation": "LAM"},
            "spec.mpiImplementation: unsupported value 'LAM', must be one of OpenMPI, Intel, MPICH",
        ),
        (
            {"runPolicy": {"cleanPodPolicy": "Some"}},
            "spec.runPolicy.cleanPodPolicy: unsupported value 'Some', must be one of None, Running, All",
        ),
        ({"runPolicy": {"backoffLimit": -1}}, "spec.runPolicy.backoffLimit: must be at least 0, got -1"),
        (
            {"runPolicy": {"managedBy": "me"}},
            "spec.runPolicy.managedBy: unsupported value 'me', must be one of kubeflow.org/mpi-operator, "
            "kubeflow.org/training-operator, kueue.x-k8s.io/multikueue",
        ),
    ],
)
def test_v2beta1_checks_its_fields_and_its_run_policy(spec: Manifest, violation: str) -> None:
    assert reported(manifests.ssh_job(Launcher=1, Worker=1, spec=spec)) == [violation]


def test_host_names_of_v2beta1_are_dns_labels() -> None:
    job = manifests.ssh_job(Launcher=1, Worker=11)
    job["metadata"]["name"] = "n" * 53
    assert reported(job) == []
    job["metadata"]["name"] = "n" * 54
    assert reported(job) == [
        f"metadata.name: too long: the name '{'n' * 54}-worker-10' of a replica has 64 characters, the maximum is 63"
    ]
    job["metadata"]["name"] = "1st"
    assert reported(job)[0].startswith("metadata.name: should match: a DNS-1035 label")
    v1 = manifests.job("MPIJob", Launcher=1, Worker=1)
    v1["metadata"]["name"] = "1st"
    assert reported(v1) == []
