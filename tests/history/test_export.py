"""`traincrew export`, and the commands that read a recording without a cluster."""

from __future__ import annotations

import gzip
import os
import pathlib
import stat
import subprocess
from collections.abc import Iterator

import pytest
import yaml
from tests.cli.cluster_fixture import COMMAND
from tests.cluster.api import Api, eventually
from tests.console import users
from tests.console.console_fixture import Machine, job

JOBS = "/apis/kubeflow.org/v1/namespaces/default/jaxjobs"
VALUE = "hf-0123456789"


def secretive(name: str, script: str) -> dict[str, object]:
    document = job(name, script, 2)
    container = document["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "HF_TOKEN", "value": VALUE}]
    return document


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """With the jobs `broken`, which has failed, and `gone`, which is deleted, too."""
    found = Machine(tmp_path_factory.mktemp("export") / "data")
    found.up()
    try:
        api = Api(found.kubeconfig)
        api.call("POST", JOBS, secretive("broken", "echo my $HF_TOKEN; echo the data set is empty; exit 3"))
        api.call("POST", JOBS, secretive("gone", "echo before the end of $HF_TOKEN; exit 4"))
        eventually(lambda: found.traincrew("ls").count("Failed") == 2, seconds=90)
        api.call("DELETE", f"{JOBS}/gone")
        eventually(lambda: "Failed, deleted" in found.traincrew("ls", "--all"), seconds=90)
        yield found
    finally:
        found.down()


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    return subprocess.run([*COMMAND, *arguments], capture_output=True, check=False, timeout=180, env=environment, **options)  # type: ignore[call-overload,no-any-return]


def offline(*arguments: str) -> str:
    """A command where there is no cluster."""
    done = run(*arguments, "--data", "/nonexistent")
    assert done.returncode == 0, done.stderr
    return str(done.stdout.decode())


def refused(*arguments: str) -> str:
    done = run(*arguments)
    assert done.returncode != 0, done.stdout
    return str(done.stderr.decode())


def exported(machine: Machine, name: str, path: pathlib.Path) -> pathlib.Path:
    machine.traincrew("export", name, "-o", str(path))
    return path


def test_a_failed_job_is_understood_from_its_recording_without_a_cluster(machine: Machine, tmp_path: pathlib.Path) -> None:
    file = exported(machine, "broken", tmp_path / "broken.gz")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    why = offline("why", "--recording", str(file))
    assert "exited with code 3" in why
    assert "| the data set is empty" in why
    described = offline("describe", "jaxjob/broken", "--recording", str(file))
    assert "broken-worker-1   Failed" in described
    assert "SuccessfulCreatePod" in described
    assert offline("logs", "--recording", str(file)).count("the data set is empty") == 2
    only = offline("logs", "--recording", str(file), "--replica", "worker-1", "--no-prefix", "--tail", "1")
    assert only == "the data set is empty\n"
    document = yaml.safe_load(offline("describe", "--recording", str(file), "-o", "yaml"))
    assert document["metadata"]["name"] == "broken"


def test_secret_values_are_neither_in_objects_nor_in_logs(machine: Machine, tmp_path: pathlib.Path) -> None:
    content = gzip.decompress(exported(machine, "broken", tmp_path / "broken.gz").read_bytes())
    assert VALUE.encode() not in content
    assert b"my <redacted>" in content


def test_a_deleted_job_is_exported_from_the_history(machine: Machine, tmp_path: pathlib.Path) -> None:
    file = exported(machine, "gone", tmp_path / "gone.gz")
    assert "exited with code 4" in offline("why", "--recording", str(file))
    lines = offline("logs", "--recording", str(file), "--no-prefix").splitlines()
    assert lines == [f"before the end of {'<redacted>'.ljust(len(VALUE), '*')}"] * 2
    assert "deleted  " in offline("describe", "--recording", str(file))
    assert VALUE.encode() not in gzip.decompress(file.read_bytes())


def test_the_commands_show_no_secret_values_of_a_deleted_job(machine: Machine) -> None:
    assert "before the end of <redacted>" in machine.traincrew("logs", "gone")
    assert VALUE not in machine.traincrew("logs", "gone") + machine.traincrew("why", "gone")


def test_a_log_whose_secret_values_are_not_replaced_is_exported_with_a_warning(machine: Machine, tmp_path: pathlib.Path) -> None:
    """As of a pod that was removed while no kubelet ran."""
    for each in (machine.data / "logs").glob("default_gone-*/pod.json"):
        each.unlink()
    file = exported(machine, "gone", tmp_path / "gone.gz")
    assert b"Secret values in them are not replaced" in gzip.decompress(file.read_bytes())


def test_a_recording_is_written_to_standard_output(machine: Machine, tmp_path: pathlib.Path) -> None:
    done = run("export", "jaxjob/broken", "-o", "-", "--data", str(machine.data))
    assert b"2 pods, 4 lines of logs" in done.stderr
    read = run("logs", "--recording", "-", "--data", "/nonexistent", input=done.stdout)
    assert read.stdout.count(b"the data set is empty") == 2, read.stderr


def test_a_file_is_replaced_only_if_asked_and_appears_when_it_is_complete(machine: Machine, tmp_path: pathlib.Path) -> None:
    where = ["--data", str(machine.data)]
    done = run("export", "broken", *where, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    name = "default-broken.recording.jsonl.gz"
    assert os.listdir(tmp_path) == [name]
    assert b"Run `traincrew open default-broken.recording.jsonl.gz`" in done.stderr
    assert f"{tmp_path / name} exists" in refused("export", "broken", "-o", str(tmp_path / name), *where)
    assert run("export", "broken", "--force", *where, cwd=tmp_path).returncode == 0
    assert "cannot write" in refused("export", "broken", "-o", str(tmp_path / "none" / "file"), *where)
    assert 'job "never-was" not found' in refused("export", "never-was", "-o", str(tmp_path / "x"), *where)
    assert os.listdir(tmp_path) == [name]


def test_files_that_are_no_recordings_are_refused_with_the_reason(machine: Machine, tmp_path: pathlib.Path) -> None:
    file = exported(machine, "broken", tmp_path / "broken.gz")
    cut = tmp_path / "cut.gz"
    cut.write_bytes(file.read_bytes()[:-20])
    other = tmp_path / "other.txt"
    other.write_text("hello\n")
    for verb in ("why", "describe", "logs"):
        assert f"{cut}: the recording is not complete: the file was cut off" in refused(verb, "--recording", str(cut))
        assert f"{other}: the file is not a recording of traincrew" in refused(verb, "--recording", str(other))
        assert "No such file or directory" in refused(verb, "--recording", str(tmp_path / "none"))
        assert "is a recording of jaxjob/broken, not of tfjob/broken" in refused(verb, "tfjob/broken", "--recording", str(file))
    assert "--follow cannot be used with --recording" in refused("logs", "-f", "--recording", str(file))


def test_who_may_not_read_the_job_exports_nothing(machine: Machine, tmp_path: pathlib.Path) -> None:
    config = tmp_path / "nobody.conf"
    token = users.token_of(machine.kubeconfig, "export-nobody")
    config.write_text(yaml.safe_dump(users.kubeconfig_with(machine.kubeconfig, token=token)))
    error = refused(
        "export", "jaxjob/broken", "-o", str(tmp_path / "x"), "--kubeconfig", str(config), "--data", str(machine.data)
    )
    assert "forbidden" in error
    assert not (tmp_path / "x").exists()


def test_without_a_recorder_the_recording_says_what_is_missing(tmp_path: pathlib.Path) -> None:
    quiet = Machine(tmp_path / "quiet")
    quiet.traincrew("up", "--detach", "--no-console")
    try:
        Api(quiet.kubeconfig).call("POST", JOBS, job("plain", "echo printed; exit 3"))
        eventually(lambda: "Failed" in quiet.traincrew("ls"), seconds=90)
        file = exported(quiet, "plain", tmp_path / "plain.gz")
        assert 'job "gone" not found' in refused("export", "gone", "--data", str(quiet.data))
    finally:
        quiet.down()
    done = run("why", "--recording", str(file), "--data", "/nonexistent")
    assert b"exited with code 3" in done.stdout
    assert b"warning: Nothing was recorded of this job while it ran." in done.stderr
    assert offline("logs", "--recording", str(file)) == "printed\n"
