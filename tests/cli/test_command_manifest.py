"""Jobs that are generated from a command."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import pytest

from traincrew import errors
from traincrew.cli import env_options
from traincrew.cli.jobs import command_manifest, command_suggestion
from traincrew.kinds import KINDS
from traincrew.kinds import job_from_command as kinds_job_from_command
from traincrew.kinds.kind import JobKind
from traincrew.planner import scaling
from traincrew.validation import job_review

PYTHON = ("python", "train.py", "--epochs", "3")
BY_NAME = {kind.kind: kind for kind in KINDS}


def order(kind: str, **changes: Any) -> command_manifest.CommandJob:
    request = kinds_job_from_command.CommandRequest(
        changes.pop("command", PYTHON), changes.pop("workers", 3), changes.pop("elastic", None)
    )
    request = request._replace(gpus=changes.pop("gpus", 0), retries=changes.pop("retries", 0))
    return command_manifest.CommandJob(BY_NAME[kind], request, "train-abcde", image="i", directory="/home/me/it", **changes)


def replicas(document: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = document["spec"][BY_NAME[kind].replicas_field]
    return found


def container(document: dict[str, Any], kind: str, role: str) -> dict[str, Any]:
    found: dict[str, Any] = replicas(document, kind)[role]["template"]["spec"]["containers"][0]
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
@pytest.mark.parametrize("workers", [1, 3])
def test_a_generated_job_of_every_kind_is_valid(kind: JobKind, workers: int) -> None:
    found = job_review.review(command_manifest.manifest(order(kind.kind, workers=workers, gpus=1, cpu="2", memory="1Gi")))
    assert (found.errors, found.unknown, found.faults, found.warnings) == ((), (), (), ())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_number_of_training_replicas_is_that_of_the_option(kind: JobKind) -> None:
    outline = kind.from_command(kinds_job_from_command.CommandRequest(PYTHON, 3))
    assert sum(part.replicas for part in outline.roles if part.trains) == 3


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "MPIJob", "PaddleJob"])
def test_generated_elastic_jobs_are_valid(kind: str) -> None:
    found = job_review.review(command_manifest.manifest(order(kind, workers=2, elastic=(1, 4))))
    assert (found.errors, found.unknown, found.faults, found.warnings) == ((), (), (), ())


@pytest.mark.parametrize("kind", ["XGBoostJob", "JAXJob"])
def test_kinds_without_elastic_support_name_those_with_it(kind: str) -> None:
    with pytest.raises(errors.SettingsError, match="TFJob, PyTorchJob, MPIJob or PaddleJob"):
        command_manifest.manifest(order(kind, elastic=(1, 4)))


def test_the_first_pytorch_replica_is_the_master() -> None:
    made = command_manifest.manifest(order("PyTorchJob"))
    assert {role: entry["replicas"] for role, entry in replicas(made, "PyTorchJob").items()} == {"Master": 1, "Worker": 2}
    assert container(made, "PyTorchJob", "Worker")["command"] == list(PYTHON)


def test_elastic_pytorch_uses_torchrun() -> None:
    made = command_manifest.manifest(order("PyTorchJob", elastic=(1, 4)))
    assert container(made, "PyTorchJob", "Worker")["command"] == ["python", "-m", "torch.distributed.run", *PYTHON[1:]]
    assert made["spec"]["elasticPolicy"]["maxReplicas"] == 4


def test_the_launcher_of_mpi_starts_the_command_on_every_slot() -> None:
    made = command_manifest.manifest(order("MPIJob", workers=2, gpus=4))
    launcher = container(made, "MPIJob", "Launcher")
    assert launcher["command"][0] == "sh"
    assert launcher["command"][3:] == ["mpirun", "-n", "8", *PYTHON]
    assert "resources" not in launcher
    assert "command" not in container(made, "MPIJob", "Worker")


def test_a_launcher_of_the_user_is_not_changed() -> None:
    command = ("mpirun", "-np", "5", "./a.out")
    assert container(command_manifest.manifest(order("MPIJob", command=command)), "MPIJob", "Launcher")["command"] == list(
        command
    )


def test_elastic_mpi_uses_horovod_with_host_discovery() -> None:
    command = container(command_manifest.manifest(order("MPIJob", workers=2, elastic=(1, 4))), "MPIJob", "Launcher")["command"]
    assert command[3:10] == ["horovodrun", "-np", "2", "--min-np", "1", "--max-np", "4"]
    assert "--network-interfaces" in command[2], "without it, a job of one worker would wait for a second one"
    assert "/etc/mpi/discover_hosts.sh" in command


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_directory_is_mounted_at_the_same_path_in_every_replica(kind: JobKind) -> None:
    for entry in replicas(command_manifest.manifest(order(kind.kind)), kind.kind).values():
        spec = entry["template"]["spec"]
        assert spec["containers"][0]["workingDir"] == "/home/me/it"
        assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == spec["volumes"][0]["hostPath"]["path"] == "/home/me/it"


def test_resources_and_variables_are_those_of_the_options() -> None:
    made = container(
        command_manifest.manifest(order("JAXJob", cpu="500m", memory="1Gi", gpus=2, env=(("A", "b=c"),))), "JAXJob", "Worker"
    )
    assert made["resources"] == {"limits": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"}}
    assert made["env"] == [{"name": "A", "value": "b=c"}]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("python", "train.py"), "train-x"),
        (("python", "-u", "/a/b/My_Net v2.py"), "my-net-v2-x"),
        (("python", "-m", "pkg.train"), "python-x"),
        (("./3d.sh", "a"), "job-3d-x"),
        (("torchrun", "a" * 60 + ".py"), "a" * 40 + "-x"),
    ],
)
def test_a_job_is_named_after_its_script(command: tuple[str, ...], name: str) -> None:
    assert command_manifest.generate_name(command, "x") == name


@pytest.mark.parametrize("text", ["4", "4:1", "0:3", "a:b", ":", "1:2:3"])
def test_invalid_elastic_limits_are_rejected(text: str) -> None:
    with pytest.raises(errors.SettingsError, match="1:4"):
        command_manifest.parse_elastic(text)


def test_a_number_of_workers_outside_of_the_elastic_limits_is_refused() -> None:
    with pytest.raises(errors.SettingsError, match=r"--workers 2 contradicts --elastic 3:4.*Use --workers 3"):
        command_manifest.number_of_workers(2, (3, 4))
    with pytest.raises(errors.SettingsError, match=r"--workers 5 contradicts --elastic 3:4.*Use --workers 4"):
        command_manifest.number_of_workers(5, (3, 4))
    assert command_manifest.number_of_workers(None, (3, 4)) == 3
    assert command_manifest.number_of_workers(4, (3, 4)) == 4
    assert command_manifest.number_of_workers(None, None) == 1


def test_a_variable_without_a_value_is_taken_from_the_environment() -> None:
    assert env_options.parse(("A=1=2", "HOME", "B="), {"HOME": "/h"}) == (("A", "1=2"), ("HOME", "/h"), ("B", ""))
    for wrong in ("1A=2", "=x", "NOT_SET_HERE"):
        with pytest.raises(errors.SettingsError):
            env_options.parse((wrong,), {})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_first_failure_ends_a_job_unless_there_are_retries(kind: JobKind) -> None:
    once, thrice = (command_manifest.manifest(order(kind.kind, retries=number)) for number in (0, 3))
    assert {entry["restartPolicy"] for entry in replicas(once, kind.kind).values()} == {"Never"}
    assert {entry["restartPolicy"] for entry in replicas(thrice, kind.kind).values()} == {"OnFailure"}
    assert thrice["spec"]["runPolicy"]["backoffLimit"] == 4
    assert not job_review.review(thrice).faults


def test_workers_that_never_exit_are_deleted_when_the_job_is_finished() -> None:
    for elastic in (None, (1, 4)):
        assert command_manifest.manifest(order("MPIJob", elastic=elastic))["spec"]["runPolicy"]["cleanPodPolicy"] == "Running"
    assert "runPolicy" not in command_manifest.manifest(order("PyTorchJob"))["spec"]


def test_a_job_for_idle_capacity_has_the_annotation_requests_and_no_limit_of_restarts() -> None:
    document = command_manifest.manifest(idle("PyTorchJob", (1, 4)))
    assert document["metadata"]["annotations"] == {"traincrew.kubeflow.org/scaling": "idle"}
    assert container(document, "PyTorchJob", "Worker")["resources"] == {"requests": {"cpu": "1"}}
    assert "maxRestarts" not in document["spec"]["elasticPolicy"]


@pytest.mark.parametrize("retries", [0, 3])
def test_torchrun_restarts_workers_as_often_as_the_retries_say(retries: int) -> None:
    """With many restarts, a script that always fails would run for ever."""
    document = command_manifest.manifest(order("PyTorchJob", elastic=(1, 4), retries=retries))
    assert document["spec"]["elasticPolicy"]["maxRestarts"] == retries


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_idle_is_refused_for_the_kinds_whose_workers_the_operator_cannot_choose(kind: JobKind) -> None:
    if kind.kind not in ("PyTorchJob", "MPIJob"):
        with pytest.raises(errors.SettingsError, match="PyTorchJob or MPIJob"):
            command_manifest.manifest(idle(kind.kind, (1, 4)))
        return
    stored = job_review.review(command_manifest.manifest(idle(kind.kind, (1, 4)))).stored
    assert stored is not None
    request = scaling.of(kind, kind.job(stored))
    assert request is not None
    assert request.error == ""


def test_the_kind_of_an_elastic_script_is_that_of_its_framework_or_pytorch(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for text, kind, said in (
        ("import torch", "PyTorchJob", "a PyTorchJob, because train.py imports torch"),
        ("import horovod.torch, torch", "MPIJob", "an MPIJob, because train.py imports horovod"),
        ("import time", "PyTorchJob", "a PyTorchJob"),
    ):
        (tmp_path / "train.py").write_text(text)
        found = command_suggestion.guess(("python3", "train.py", "--epochs", "3"), elastic=True)
        assert found is not None
        assert (found.kind, str(found)) == (kind, said)
        fixed = command_suggestion.guess(("python3", "train.py"), elastic=False)
        assert fixed == (found if found.why else None)
    assert command_suggestion.guess(("job.yaml",), elastic=True) is None
    assert command_suggestion.guess(("./train", "--epochs", "3"), elastic=True) is None


def test_a_script_of_several_frameworks_needs_a_kind(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import torch, tensorflow")
    command = ("python", "train.py")
    assert command_suggestion.guess(command, elastic=False) is None
    assert "The script imports frameworks of several kinds: " in command_suggestion.missing_kind(command, "--name")
    (tmp_path / "train.py").write_text("import time")
    said = command_suggestion.missing_kind(command, "--name")
    assert said.startswith(f"--name requires --kind. Add --kind {KINDS[0].kind} (or {KINDS[1].kind}, ")


@pytest.mark.parametrize("separator", [(), ("--",)])
def test_a_script_with_options_of_a_job_gets_the_complete_command(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, separator: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.py").write_text("import torch")
    words = ("ok.py", "--epochs", "3")
    options = command_suggestion.given_options(("traincrew", "run", "--workers", "3", *separator, *words), words)
    command = command_suggestion.with_interpreter("ok.py")
    assert command in ("python ok.py", "python3 ok.py")
    run = f"traincrew run --kind PyTorchJob --workers 3 -- {command} --epochs 3"
    said = f"ok.py is a script, not a manifest. To run it as a job, use:\n  {run}"
    assert command_suggestion.suggest(words, options) == said
    assert command_suggestion.missing_kind(("torchrun", "ok.py"), "--workers") == (
        "--workers requires --kind. Add --kind PyTorchJob."
    )


def test_articles_of_kinds() -> None:
    found = {command_suggestion.with_article(kind.kind) for kind in KINDS}
    assert found == {"a TFJob", "a PyTorchJob", "an MPIJob", "an XGBoostJob", "a PaddleJob", "a JAXJob"}


def test_idle_without_bounds_is_an_error() -> None:
    with pytest.raises(errors.SettingsError, match="--idle requires --elastic MIN:MAX"):
        command_manifest.manifest(idle("PyTorchJob", None))


def idle(kind: str, bounds: tuple[int, int] | None) -> command_manifest.CommandJob:
    job = order(kind, workers=1, elastic=bounds)
    return dataclasses.replace(job, request=job.request._replace(idle=True))
