"""Recorder and two consoles with PostgreSQL: both show the same history, and nothing is lost with a console or the database."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster.api import Object, eventually
from tests.console_cluster import postgres_pod
from tests.console_cluster.forwarding import forwarding
from tests.console_cluster.postgres_pod import PostgresPod
from tests.console_cluster.release import CONSOLE, LONG, NAMESPACE, RECORDER, Release
from tests.history import postgres_server
from tests.node.joined_node import JoinedNode

VALUES = (
    "console.enabled=true",
    "console.replicas=2",
    "recorder.enabled=true",
    'recorder.postgres.secret="history-writer"',
    'recorder.postgres.consoleSecret="history-reader"',
)


@pytest.fixture(scope="module", autouse=True)
def database(release: Release, machine: JoinedNode) -> Iterator[PostgresPod]:
    """With the job `first`, which has failed and is deleted."""
    found = PostgresPod(machine)
    for name, user in (("history-writer", postgres_pod.RECORDER), ("history-reader", postgres_pod.CONSOLE)):
        release.kubectl("create", "secret", "generic", name, f"--from-literal=url={found.url(user)}")
    release.install(*VALUES)
    release.run_job("first", "echo before the end; exit 3")
    release.delete_job("first")
    yield found
    found.stop()


def deleted(release: Release, config: pathlib.Path | None = None, *flags: str) -> dict[str, str]:
    """UIDs of the deleted jobs by name. config: None: that of the administrator."""
    used = config or release.machine.kube.kubeconfig
    listed = json.loads(release.cli(used, "ls", "--all", "-o", "json", *flags).stdout)["items"]
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in listed}


def names(pods: list[Object]) -> list[str]:
    return sorted(each["metadata"]["name"] for each in pods)


def test_both_consoles_show_the_same_history(release: Release) -> None:
    eventually(lambda: "first" in deleted(release), LONG)
    replicas = names(release.pods(CONSOLE))
    assert len(replicas) == 2
    config = release.user("sql-reader", "view")
    answers = []
    for pod in replicas:
        with forwarding(release, pod) as address:
            flags = ("--console", address)
            explained = release.cli(config, "why", "first", *flags).stdout
            assert "exited with code 3" in explained
            answers.append((deleted(release, config, *flags), release.cli(config, "logs", "first", *flags).stdout))
    assert answers[0] == answers[1]
    assert answers[0][1].count("before the end") == 2


def test_the_history_is_read_at_once_after_the_loss_of_one_console(release: Release) -> None:
    before = names(release.pods(CONSOLE))
    release.machine.api.delete("pods", NAMESPACE, before[0], grace=0)  # the one that the commands have asked
    assert "first" in deleted(release)
    eventually(lambda: len(set(names(release.pods(CONSOLE))) - {before[0]}) == 2, LONG)
    release.wait_rollout(CONSOLE)


def test_evictions_end_one_console_at_a_time(release: Release) -> None:
    path = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/{CONSOLE}"

    def is_known() -> bool:
        status = release.machine.api.call("GET", path).get("status", {})
        return (status.get("expectedPods"), status.get("disruptionsAllowed")) == (2, 1)

    eventually(is_known, LONG)


def test_a_database_that_is_away_loses_nothing_that_happens_meanwhile(release: Release, database: PostgresPod) -> None:
    database.stop()
    release.run_job("meanwhile", "echo while the database was away; exit 4", workers=1)
    eventually(lambda: not _is_ready(release), LONG)
    done = release.cli(release.machine.kube.kubeconfig, "ls", "--all", check=False)
    assert done.returncode != 0
    assert "history postgresql://console@postgres.default.svc/history" in done.stderr
    assert not [word for word in database.passwords if word in done.stderr]
    database.start()
    release.wait_rollout(RECORDER)
    release.delete_job("meanwhile")
    eventually(lambda: {"first", "meanwhile"} <= set(deleted(release)), LONG)
    config = release.machine.kube.kubeconfig
    assert "exited with code 4" in release.cli(config, "why", "meanwhile").stdout
    assert "while the database was away" in release.cli(config, "logs", "meanwhile").stdout


def _is_ready(release: Release) -> bool:
    (pod,) = release.pods(RECORDER)
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"]["conditions"])


def test_a_console_with_the_rights_of_a_reader_cannot_change_the_history(release: Release, database: PostgresPod) -> None:
    """The recorder owns its tables; the user of the consoles may read them and nothing else."""
    program = f"PGPASSWORD= {_psql()} -h /data -U postgres -d history -At -c"
    query = "SELECT DISTINCT privilege_type FROM information_schema.role_table_grants WHERE grantee = 'console'"
    done = release.machine.kube.kubectl("exec", "postgres", "--", "sh", "-c", f'{program} "{query}"')
    assert done.stdout.split() == ["SELECT"], done.stderr


def _psql() -> str:
    programs = postgres_server.binaries()
    assert programs is not None
    return str(programs / "psql")
