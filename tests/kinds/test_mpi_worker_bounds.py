"""The bounds of Horovod Elastic: spec.elasticPolicy beside the flags of horovodrun."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kinds.replicas import defaulted
from tests.planner import manifests

from traincrew.kinds import elasticity, job_warnings
from traincrew.planner import scaling
from traincrew.validation import job_review

Manifest = dict[str, Any]
DISCOVERY = "--host-discovery-script /etc/mpi/discover_hosts.sh"
both_versions = pytest.mark.parametrize("make", [lambda **roles: manifests.job("MPIJob", **roles), manifests.ssh_job])


def job(make: Any, flags: str, policy: dict[str, int] | None = None, workers: int = 2, slots: int = 1) -> Manifest:
    manifest: Manifest = make(Launcher=1, Worker=workers)
    launcher = manifest["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    launcher["command"] = ["sh", "-c", f"horovodrun {flags} {DISCOVERY} python train.py"]
    manifest["spec"]["slotsPerWorker"] = slots
    manifest["metadata"]["annotations"] = {"traincrew.kubeflow.org/scaling": "idle"}
    if policy is not None:
        manifest["spec"]["elasticPolicy"] = policy
    return manifest


def bounds(manifest: Manifest) -> elasticity.Elasticity:
    kind, parsed = defaulted(manifest)
    return kind.lifecycle.elastic(parsed)


def reported(manifest: Manifest) -> list[str]:
    kind, parsed = defaulted(manifest)
    return [f"{found.path} {found.message}" for found in job_warnings.of_job(kind, parsed) if "elasticPolicy" in found.path]


@both_versions
@pytest.mark.parametrize(
    ("flags", "policy", "slots", "expected"),
    [
        ("-np 2 --min-np 1 --max-np 4", None, 1, (1, 4)),
        ("-np 4 --min-np 2 --max-np 8", None, 2, (1, 4)),
        ("-np 2 --min-np 1", {"maxReplicas": 6}, 1, (1, 6)),
        ("--max-np 8", {"minReplicas": 2}, 2, (2, 4)),
        ("-np 2 --min-np 1 --max-np 4", {"minReplicas": 1, "maxReplicas": 4}, 1, (1, 4)),
        ("-np 2", {"minReplicas": 2, "maxReplicas": 4}, 1, (2, 4)),
        ("-np 2", None, 1, (2, 2)),
    ],
)
def test_the_policy_fills_in_what_the_flags_leave_open(
    make: Any, flags: str, policy: dict[str, int] | None, slots: int, expected: tuple[int, int]
) -> None:
    manifest = job(make, flags, policy, slots=slots)
    found = bounds(manifest)
    assert (found.min_replicas, found.max_replicas, found.error) == (*expected, "")
    assert reported(manifest) == []
    assert not job_review.review(manifest).unknown


@both_versions
@pytest.mark.parametrize(
    ("flags", "policy", "slots", "sentence"),
    [
        (
            "-np 2 --min-np 1 --max-np 4", {"maxReplicas": 6}, 1,
            "spec.elasticPolicy.maxReplicas is 6, but --max-np 4 of horovodrun means 4 workers: make them agree, or remove one",
        ),
        (
            "-np 4 --min-np 2 --max-np 8", {"minReplicas": 2}, 2,
            "spec.elasticPolicy.minReplicas is 2, but --min-np 2 of horovodrun means 1 worker with 2 slots each: "
            "make them agree, or remove one",
        ),
        (
            "-np 2 --max-np 4", {"minReplicas": 1}, 1,
            "spec.elasticPolicy.minReplicas is 1, but horovodrun needs 2 workers for -np 2: add --min-np 1",
        ),
        ("--max-np 4", {"minReplicas": 0}, 1, "spec.elasticPolicy.minReplicas is 0: use at least 1"),
        (
            "-np 2", {"minReplicas": 4, "maxReplicas": 3}, 1,
            "spec.elasticPolicy.minReplicas is 4, more than maxReplicas, which is 3: change one of the two",
        ),
    ],
)  # fmt: skip
def test_a_contradiction_is_one_sentence_with_the_remedy_and_the_job_is_scaled_by_hand(
    make: Any, flags: str, policy: dict[str, int], slots: int, sentence: str
) -> None:
    manifest = job(make, flags, policy, slots=slots)
    assert reported(manifest) == [sentence]
    kind, parsed = defaulted(manifest)
    request = scaling.of(kind, parsed)
    assert request is not None
    assert request.error == sentence


@pytest.mark.parametrize("word", ["$(MIN_NP)", "$MIN_NP", "${MIN_NP}", '"$MIN_NP"'])
@pytest.mark.parametrize("joint", [" ", "="])
def test_a_flag_may_be_a_variable_of_the_launcher(word: str, joint: str) -> None:
    manifest = job(lambda **roles: manifests.job("MPIJob", **roles), f"--min-np{joint}{word} --max-np 4", workers=3)
    launcher = manifest["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    launcher["env"] = [
        {"name": "MIN_NP", "value": "3"},
        {"name": "OTHER", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    found = bounds(manifest)
    assert (found.min_replicas, found.max_replicas) == (3, 4)


def test_a_policy_of_a_job_that_is_not_elastic_is_reported() -> None:
    manifest = manifests.job("MPIJob", Launcher=1, Worker=2)
    manifest["spec"]["elasticPolicy"] = {"minReplicas": 1}
    (sentence,) = reported(manifest)
    assert sentence.startswith(
        "spec.elasticPolicy has no effect: the launcher's command has no host discovery script: use horovodrun"
    )
