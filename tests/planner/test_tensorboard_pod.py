"""The pod of TensorBoard: its log directory and what it takes from the job."""

from __future__ import annotations

import json
from typing import Any

import pytest

from traincrew.kinds import KINDS, job_decoding
from traincrew.model import jobs
from traincrew.planner import tensorboard_pod
from traincrew.planner.tensorboard_pod import TensorBoard

PYTORCH = next(each for each in KINDS if each.kind == "PyTorchJob")
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
SCRATCH = {"name": "scratch", "emptyDir": {}}
MOUNTS = [{"name": "data", "mountPath": "/data"}, {"name": "scratch", "mountPath": "/data/scratch"}]


def job(container: dict[str, Any], **spec: Any) -> jobs.Job:
    main = {"name": "pytorch", "image": "a/b:1", **container}
    template = {"metadata": {"annotations": {"example.org/a": "1"}}, "spec": {"containers": [main], **spec}}
    manifest = {
        "metadata": {"name": "j", "namespace": "n", "uid": "u"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"template": template}}},
    }
    stored, _ = job_decoding.decode_stored(PYTORCH, json.dumps(manifest).encode())
    return PYTORCH.job(stored)


def pod(container: dict[str, Any], wanted: TensorBoard = TensorBoard(), **spec: Any) -> dict[str, Any]:  # noqa: B008 - frozen
    return tensorboard_pod.build(PYTORCH, job(container, **spec), wanted)


def log_directory(container: dict[str, Any], given: str = "") -> str:
    built = pod({"volumeMounts": MOUNTS, **container}, TensorBoard(given), volumes=[CLAIM, SCRATCH])
    command: list[str] = built["spec"]["containers"][0]["command"]
    return command[command.index("--logdir") + 1]


@pytest.mark.parametrize(
    ("container", "given", "found"),
    [
        ({}, "/data/runs", "/data/runs"),
        ({"workingDir": "/data/mnist"}, "runs", "/data/mnist/runs"),
        ({"command": ["python", "t.py", "--logdir", "/data/l"]}, "", "/data/l"),
        ({"command": ["python", "t.py"], "args": ["--log_dir=/data/l"]}, "", "/data/l"),
        ({"command": ["sh", "-c", "python t.py --tensorboard-dir '/data/l' && true"]}, "", "/data/l"),
        ({"command": ["python", "t.py", "--logdir", "/data/l"]}, "/data/given", "/data/given"),
        ({"env": [{"name": "TENSORBOARD_LOGDIR", "value": "/data/env"}]}, "", "/data/env"),
        ({"command": ["python", "t.py", "--logdir=$(DIR)"], "workingDir": "/data/w"}, "", "/data/w"),
        ({}, "", "/data"),
        ({}, "s3://bucket/logs", "s3://bucket/logs"),
    ],
    ids=["given", "relative", "option", "argument", "shell", "given wins", "variable", "unexpanded", "only volume", "url"],
)
def test_the_log_directory_is_found(container: dict[str, Any], given: str, found: str) -> None:
    assert log_directory(container, given) == found


@pytest.mark.parametrize(
    ("given", "message"),
    [("/elsewhere", "file system of the container"), ("/data/scratch/x", "type emptyDir"), ("runs", "absolute path")],
)
def test_a_directory_that_no_other_pod_can_read_is_an_error(given: str, message: str) -> None:
    with pytest.raises(tensorboard_pod.NoLogDirectory, match=message):
        log_directory({}, given)


def test_an_unknown_directory_is_an_error_that_names_the_option() -> None:
    with pytest.raises(tensorboard_pod.NoLogDirectory, match="Use --logdir DIR"):
        pod({})


def test_the_pod_is_owned_by_the_job_and_is_not_a_replica() -> None:
    built = pod({"workingDir": "/data", "volumeMounts": MOUNTS}, volumes=[CLAIM, SCRATCH])
    assert built["metadata"]["ownerReferences"] == [
        {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j", "uid": "u"}
    ]
    assert not any(label.startswith("training.kubeflow.org/") for label in built["metadata"]["labels"])
    assert built["metadata"]["annotations"] == {"example.org/a": "1"}


def test_volumes_are_read_only_and_devices_are_left_to_the_job() -> None:
    gpus = {"limits": {"nvidia.com/gpu": "1"}}
    privileged = {"privileged": True, "runAsUser": 1000}
    built = pod(
        {"workingDir": "/data", "volumeMounts": MOUNTS, "resources": gpus, "securityContext": privileged},
        volumes=[CLAIM, SCRATCH],
    )
    (container,) = built["spec"]["containers"]
    assert [each["readOnly"] for each in container["volumeMounts"]] == [True] * len(MOUNTS)
    assert "nvidia.com/gpu" not in str(container["resources"])
    assert container["securityContext"] == {"runAsUser": 1000}


def test_another_image_and_all_addresses_on_request() -> None:
    wanted = TensorBoard("/data", image="tensorboard:2", all_addresses=True)
    (container,) = pod({"volumeMounts": MOUNTS}, wanted, volumes=[CLAIM, SCRATCH])["spec"]["containers"]
    assert container["image"] == "tensorboard:2"
    assert "--bind_all" in container["command"]
