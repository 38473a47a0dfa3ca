"""The commands for jobs that are gone: `ls --all`, `logs`, `why` and `describe` read the history through the console."""

from __future__ import annotations

import asyncio
import json
import pathlib
import shutil
import subprocess
from collections.abc import Iterator

import pytest
import yaml
from tests.cli.cluster_fixture import COMMAND
from tests.cluster.api import Api, eventually
from tests.console import users
from tests.console.console_fixture import Machine, job

JOBS = "/apis/kubeflow.org/v1/namespaces/default/jaxjobs"
NO_RECORDER = "Deleted jobs are not recorded: the cluster runs with --no-console. Start it again without this option."


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """With the job `gone`, which has failed and is deleted."""
    found = Machine(tmp_path_factory.mktemp("history") / "data")
    found.up()
    try:
        api = Api(found.kubeconfig)
        api.call("POST", JOBS, job("gone", "echo before the end; exit 3", 2))
        eventually(lambda: "Failed" in found.traincrew("ls", "gone"), seconds=60)
        api.call("DELETE", f"{JOBS}/gone")
        eventually(lambda: "Failed, deleted" in found.traincrew("ls", "--all"), seconds=60)
        yield found
    finally:
        found.down()


def refused(machine: Machine, *arguments: str) -> str:
    command = [*COMMAND, *arguments, "--data", str(machine.data)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    return done.stderr


def test_ls_lists_deleted_jobs_if_asked(machine: Machine) -> None:
    assert "gone" not in machine.traincrew("ls", "-A")
    listed = json.loads(machine.traincrew("ls", "--all", "-o", "json"))["items"]
    assert [each["metadata"]["name"] for each in listed] == ["gone"]
    assert "gone" in machine.traincrew("ls", "--all", "-A")
    assert "gone" in machine.traincrew("ls", "--all", "gone")


def test_why_and_describe_explain_a_deleted_job(machine: Machine) -> None:
    explained = machine.traincrew("why", "gone")
    assert "exited with code 3" in explained
    assert "| before the end" in explained
    described = machine.traincrew("describe", "jaxjob/gone")
    assert "deleted  " in described
    assert "gone-worker-1   Failed" in described
    assert "SuccessfulCreatePod" in described
    assert yaml.safe_load(machine.traincrew("describe", "gone", "-o", "yaml"))["metadata"]["name"] == "gone"


def test_logs_come_from_the_files_of_the_node(machine: Machine) -> None:
    printed = machine.traincrew("logs", "gone")
    assert printed.count("before the end") == 2
    assert machine.traincrew("logs", "gone", "--replica", "worker-1", "--no-prefix") == "before the end\n"


def test_a_job_that_never_was_is_not_found(machine: Machine) -> None:
    for verb in ("why", "describe", "logs"):
        error = refused(machine, verb, "never-was")
        assert 'job "never-was" not found in namespace "default"' in error
        assert "recorded" not in error


def test_without_a_recorder_the_commands_say_so(tmp_path: pathlib.Path) -> None:
    found = Machine(tmp_path / "quiet")
    found.traincrew("up", "--detach", "--no-console")
    try:
        for arguments in (("why", "x"), ("describe", "x"), ("logs", "x"), ("ls", "--all")):
            assert refused(found, *arguments).strip().endswith(NO_RECORDER)
    finally:
        found.down()


async def test_the_commands_read_from_the_console_of_the_cluster_with_the_rights_of_the_user(
    machine: Machine, tmp_path: pathlib.Path
) -> None:
    """As with `kubectl port-forward service/traincrew-console`: the console knows who asks."""
    history = str(machine.data / "history.db")
    tokens = [users.token_of(machine.kubeconfig, name, role) for name, role in (("reader", "admin"), ("nobody", ""))]
    configs = [machine.kubeconfig, tmp_path / "reader.conf", tmp_path / "nobody.conf"]
    for path, token in zip(configs[1:], tokens, strict=True):
        path.write_text(yaml.safe_dump(users.kubeconfig_with(machine.kubeconfig, token=token)))
    async with users.console(machine.kubeconfig, tmp_path / "page", history=history) as (origin, _):

        def command(config: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
            where = ["--kubeconfig", str(config), "--data", str(tmp_path / "none")]
            line = [*COMMAND, *arguments, "--console", origin, *where]
            return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)

        for config in configs[:2]:  # a client certificate, and a token
            listed = await asyncio.to_thread(command, config, "ls", "--all")
            assert "Failed, deleted" in listed.stdout, listed.stderr
            explained = await asyncio.to_thread(command, config, "why", "gone")
            assert "exited with code 3" in explained.stdout, explained.stderr
        refused_one = await asyncio.to_thread(command, configs[2], "describe", "gone")
        assert refused_one.returncode != 0
        assert "forbidden" in refused_one.stderr
        assert "exited with code" not in refused_one.stdout + refused_one.stderr


def test_credentials_are_sent_neither_unencrypted_nor_to_what_is_no_address(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url, message in (("http://console.example.com", "is not encrypted"), ("console", "is no address")):
        monkeypatch.setenv("TRAINCREW_CONSOLE", url)
        error = refused(machine, "why", "gone")
        assert message in error
        assert "--console (or $TRAINCREW_CONSOLE)" in error


def test_a_service_that_the_user_names_is_looked_for_in_the_cluster(machine: Machine) -> None:
    """--console comes before $TRAINCREW_CONSOLE, and before the console of this machine."""
    error = refused(machine, "why", "gone", "--console", "default/none")
    assert "there is no Service default/none (--console)" in error


def test_other_credentials_do_not_read_through_the_console_of_the_administrator(machine: Machine, tmp_path: pathlib.Path) -> None:
    config = tmp_path / "other.conf"
    shutil.copy(machine.kubeconfig, config)
    error = refused(machine, "why", "gone", "--kubeconfig", str(config))
    assert "run a console with these credentials first" in error
