"""Variables and commands that contradict what the operator sets."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.kinds.replicas import defaulted
from tests.planner import manifests

from traincrew.kinds import overridden_variables

Manifest = dict[str, Any]
CONTAINER = "template.spec.containers[0]"


def reported(manifest: Manifest) -> dict[str, str]:
    return {found.path: found.message for found in overridden_variables.of_job(*defaulted(manifest))}


def job(kind: str, field: str, role: str, container: Manifest, roles: dict[str, int]) -> Manifest:
    manifest: Manifest = manifests.job(kind, **cast(Any, roles))
    manifest["spec"][field][role]["template"]["spec"]["containers"][0].update(container)
    return manifest


def torch_job(container: Manifest, workers: int = 1) -> Manifest:
    return job("PyTorchJob", "pytorchReplicaSpecs", "Worker", container, {"Master": 1, "Worker": workers})


def env(**variables: str) -> Manifest:
    return {"env": [{"name": name, "value": value} for name, value in variables.items()]}


def test_a_world_size_of_the_template_is_ignored_and_said() -> None:
    path = f"spec.pytorchReplicaSpecs[Worker].{CONTAINER}.env[1]"
    found = reported(torch_job(env(EPOCHS="3", WORLD_SIZE="4"), workers=2))
    assert found == {path: "WORLD_SIZE=4 is ignored: the operator sets WORLD_SIZE=3"}


def test_values_of_single_replicas_are_not_named_if_there_are_several() -> None:
    assert list(reported(torch_job(env(RANK="7"), workers=2)).values()) == ["RANK=7 is ignored: the operator sets the variable"]
    assert list(reported(torch_job(env(RANK="7"))).values()) == ["RANK=7 is ignored: the operator sets RANK=1"]


def test_equal_and_other_variables_are_not_reported() -> None:
    assert reported(torch_job(env(WORLD_SIZE="2", PYTHONUNBUFFERED="1", EPOCHS="3"))) == {}
    long = job("TFJob", "tfReplicaSpecs", "Worker", env(TF_CONFIG="{}" * 40), {"Worker": 2})
    assert list(reported(long).values()) == ["TF_CONFIG is ignored: the operator sets the variable"]


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["sh", "-c", "WORLD_SIZE=4 python train.py"], "WORLD_SIZE=4"),
        (["env", "WORLD_SIZE=4", "python", "train.py"], "WORLD_SIZE=4"),
        (["python", "train.py", "--world-size", "8"], "--world-size 8"),
        (["python", "train.py", "--world_size=8"], "--world_size=8"),
        (["sh", "-c", "WORLD_SIZE=2 python train.py"], ""),
        (["python", "train.py", "--world-size", "2"], ""),
        (["sh", "-c", "WORLD_SIZE=$N python train.py"], ""),
        (["sh", "-c", "OLD_WORLD_SIZE=4 python train.py"], ""),
    ],
)
def test_a_command_with_another_world_size_is_reported(command: list[str], named: str) -> None:
    found = reported(torch_job({"command": command}))
    assert list(found) == ([f"spec.pytorchReplicaSpecs[Worker].{CONTAINER}.command"] if named else [])
    assert all(text.startswith(f"{named} differs from the 2 processes of the job") for text in found.values())


def test_the_number_of_processes_of_other_kinds() -> None:
    found = reported(job("JAXJob", "jaxReplicaSpecs", "Worker", {"args": ["env", "NUM_PROCESSES=3", "python"]}, {"Worker": 2}))
    assert [text.partition(" differs")[0] for text in found.values()] == ["NUM_PROCESSES=3"]


def test_an_elastic_job_has_no_fixed_world_size() -> None:
    manifest = job("PyTorchJob", "pytorchReplicaSpecs", "Worker", {"command": ["sh", "-c", "WORLD_SIZE=4 x"]}, {"Worker": 2})
    manifest["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 4}
    assert reported(manifest) == {}


@pytest.mark.parametrize("container", [{"env": 5}, {"command": 5, "args": {"WORLD_SIZE": 4}}, {"env": [None, 5, {}]}])
def test_invalid_templates_and_numbers_of_replicas_are_the_errors_of_others(container: dict[str, Any]) -> None:
    assert reported(torch_job(container)) == {}
    sparse = job("TFJob", "tfReplicaSpecs", "PS", container, {"PS": -1})
    sparse["spec"]["enableDynamicWorker"] = True
    assert reported(sparse) == {}
