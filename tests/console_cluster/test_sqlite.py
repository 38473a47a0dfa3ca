"""Recorder and console with SQLite in a volume: deleted jobs are read through the Service, and restarts lose nothing."""

from __future__ import annotations

import functools
import json
import pathlib

import pytest
from tests.cluster import audit
from tests.cluster.api import eventually
from tests.console_cluster.release import CONSOLE, LONG, NAMESPACE, RECORDER, Release, job
from tests.node import joined_node
from tests.node.joined_node import JoinedNode

ON = ("console.enabled=true", "recorder.enabled=true", 'recorder.persistence.size="1Gi"')


@pytest.fixture(scope="module", autouse=True)
def installed(release: Release, machine: JoinedNode) -> int:
    """With the job `gone`, which has failed and is deleted. Returns where the audit log of this release begins."""
    folder = machine.home / "volume"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)  # as a provisioner leaves it, whose volumes belong to the fsGroup
    machine.api.call("POST", "/api/v1/persistentvolumes", joined_node.volume("history", folder))
    begin = machine.kube.audit_size()
    release.install(*ON)
    release.run_job("gone", "echo before the end; exit 3")
    release.delete_job("gone")
    return begin


def recorded(release: Release, name: str, text: str = "deleted") -> bool:
    listed = release.cli(release.machine.kube.kubeconfig, "ls", "--all").stdout
    return any(name in line and text in line for line in listed.splitlines())


def _lists_the_deleted_job(release: Release, config: pathlib.Path) -> bool:
    return "Failed, deleted" in release.cli(config, "ls", "--all").stdout


def test_the_commands_find_the_console_in_the_cluster_and_read_a_deleted_job(release: Release) -> None:
    """With the client certificate of an administrator, and with the token of a user who may view jobs."""
    for config in (release.machine.kube.kubeconfig, release.user("reader", "view")):
        eventually(functools.partial(_lists_the_deleted_job, release, config), LONG)
        explained = release.cli(config, "why", "gone").stdout
        assert "exited with code 3" in explained
        assert "| before the end" in explained
        assert release.cli(config, "logs", "gone").stdout.count("before the end") == 2
        assert "gone-worker-1" in release.cli(config, "describe", "gone").stdout
        named = release.cli(config, "ls", "--all", "--console", f"{NAMESPACE}/{CONSOLE}", "-o", "json").stdout
        assert [each["metadata"]["name"] for each in json.loads(named)["items"]] == ["gone"]


def test_a_user_reads_no_more_of_the_history_than_the_api_server_allows(release: Release) -> None:
    config = release.user("stranger")
    done = release.cli(config, "describe", "jaxjob/gone", check=False)
    assert done.returncode != 0
    assert "forbidden" in done.stderr
    assert "before the end" not in done.stdout + done.stderr


def test_without_the_right_to_reach_the_console_the_commands_name_it_and_the_remedy(release: Release) -> None:
    config = release.user("outsider", "view", port_forward=False)
    done = release.cli(config, "why", "gone", check=False)
    assert done.returncode != 0
    assert 'job "gone" not found' in done.stderr
    assert 'cannot list resource "services" in API group "" in the namespace "kubeflow"' in done.stderr
    assert "--console (or $TRAINCREW_CONSOLE)" in done.stderr
    account = "--serviceaccount=default:outsider"
    release.kubectl("create", "role", "lists", "--verb=list", "--resource=services,pods")
    release.kubectl("create", "rolebinding", "lists", "--role=lists", account)
    done = release.cli(config, "why", "gone", check=False)
    assert done.returncode != 0
    assert 'resource "pods/portforward"' in done.stderr
    assert "Ask for this right" in done.stderr


def test_a_console_that_does_not_exist_is_named(release: Release) -> None:
    config = release.machine.kube.kubeconfig
    done = release.cli(config, "ls", "--all", "--console", "default/none", check=False)
    assert done.returncode != 0
    assert "there is no Service default/none (--console)" in done.stderr


def test_a_service_of_another_namespace_that_calls_itself_the_console_is_not_asked(release: Release) -> None:
    """Else whoever may create a Service anywhere could collect the credentials of users."""
    labels = {"app.kubernetes.io/name": CONSOLE}
    port = {"name": "console", "port": 80}
    body = {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "trap", "labels": labels},
        "spec": {"selector": {"app": "trap"}, "ports": [port]},
    }  # fmt: skip
    release.machine.create(body)
    release.kubectl("label", f"service/{CONSOLE}", "app.kubernetes.io/name-")
    try:
        done = release.cli(release.machine.kube.kubeconfig, "ls", "--all", check=False)
        assert done.returncode != 0
        assert (
            "it has none (a Service with the label app.kubernetes.io/name=traincrew-console in the namespace kubeflow)"
            in done.stderr
        )
    finally:
        release.kubectl("label", f"service/{CONSOLE}", f"app.kubernetes.io/name={CONSOLE}")
        release.machine.api.delete("services", "default", "trap")


def test_a_restart_of_the_recorder_loses_nothing(release: Release) -> None:
    """A job that ends and is deleted while no recorder runs was seen before; the logs continue where they stopped."""
    release.machine.create(job("steady", "i=0; while true; do echo $i; i=$((i+1)); sleep 0.5; done", workers=1))
    eventually(lambda: recorded_log(release, "steady"), LONG)
    (before,) = release.pods(RECORDER)
    release.machine.api.delete("pods", NAMESPACE, before["metadata"]["name"], grace=0)
    eventually(lambda: [each["metadata"]["uid"] for each in release.pods(RECORDER)] != [before["metadata"]["uid"]], LONG)
    release.wait_rollout(RECORDER)
    eventually(lambda: len(recorded_log(release, "steady")) > 40, LONG)
    release.delete_job("steady")
    eventually(lambda: recorded(release, "steady"), LONG)
    numbers = [int(line) for line in release.cli(release.machine.kube.kubeconfig, "logs", "steady").stdout.split()]
    assert numbers[:40] == list(range(40)), "no line is missing, none is there twice"
    assert numbers == list(range(len(numbers)))
    assert recorded(release, "gone"), "what was recorded before is still there"


def recorded_log(release: Release, name: str) -> list[str]:
    """What the job has printed so far; empty before its pod runs."""
    done = release.cli(release.machine.kube.kubeconfig, "logs", name, check=False)
    return done.stdout.split()


def test_the_service_account_of_the_recorder_only_reads_and_the_console_asks_with_the_rights_of_users(
    release: Release, installed: int
) -> None:
    kube = release.machine.kube
    asked = audit.requests(kube, f"{NAMESPACE}:{RECORDER}", installed)
    assert {each["verb"] for each in asked} == {"get", "list", "watch"}
    assert not [each for each in asked if each["responseStatus"]["code"] == 403]
    assert audit.requests(kube, f"{NAMESPACE}:{CONSOLE}", installed) == []
