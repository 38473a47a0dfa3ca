"""Replicas have the names that the status of the job uses, whatever labels their pods have."""

from __future__ import annotations

import json

import pytest

from traincrew.inspection import observed_job, replica_ends
from traincrew.kinds import KINDS
from traincrew.model import naming


@pytest.mark.parametrize(
    ("contract", "labels", "name"),
    [
        pytest.param("v1", {naming.REPLICA_TYPE: "worker", naming.REPLICA_INDEX: "1"}, "Worker 1", id="worker"),
        pytest.param("v1", {naming.REPLICA_TYPE: "launcher", naming.REPLICA_INDEX: "0"}, "Launcher", id="launcher"),
        pytest.param("v2beta1", {naming.JOB_ROLE: "launcher"}, "Launcher", id="launcher of v2beta1"),
        pytest.param("v2beta1", {naming.JOB_ROLE: "worker", naming.REPLICA_INDEX: "1"}, "Worker 1", id="worker of v2beta1"),
    ],
)
def test_a_replica_has_the_name_that_the_status_uses(contract: str, labels: dict[str, str], name: str) -> None:
    kind = next(each for each in KINDS if each.kind == "MPIJob")
    roles = {"Launcher": {"template": {"spec": {}}}, "Worker": {"replicas": 2, "template": {"spec": {}}}}
    body = {"metadata": {"name": "j"}, "spec": {"mpiReplicaSpecs": roles}, "status": {"contract": contract}}
    job = observed_job.observe(kind, json.dumps(body).encode())
    pod = observed_job.decode_pod(json.dumps({"metadata": {"name": "j-launcher-x7k2p", "labels": labels}}).encode())
    assert replica_ends.replica_name(job, pod) == name
