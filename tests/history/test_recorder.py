"""The recorder of `traincrew up`: deleted jobs are still there, also after the process was killed."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cluster.api import Api, eventually
from tests.console.console_fixture import Machine, job

from traincrew import errors, settings
from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.history import database_thread, recorder
from traincrew.history.records import JobQuery, Recording
from traincrew.history.store import HistoryStore

SECONDS = 60
JOBS = "/apis/kubeflow.org/v1/namespaces/default/jaxjobs"


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Iterator[Machine]:
    found = Machine(tmp_path / "data")
    found.up()
    try:
        yield found
    finally:
        found.down()


def recorded(machine: Machine, name: str) -> Recording | None:
    try:
        store = database_thread.open_store(os.fspath(machine.data / "history.db"), writable=False)
    except errors.StoreError:
        return None
    try:
        found = store.jobs(JobQuery(name=name))
        return store.recording(found[0].uid) if found else None
    finally:
        store.close()


def until(machine: Machine, name: str, claim: Callable[[Recording], Any]) -> Recording:
    def found() -> Recording | None:
        recording = recorded(machine, name)
        return recording if recording is not None and claim(recording) else None

    waited: Recording = eventually(found, seconds=SECONDS)
    return waited


def conditions(found: Recording) -> set[str]:
    return {
        each["type"] for each in json.loads(found.job.object).get("status", {}).get("conditions", ()) if each["status"] == "True"
    }


def test_a_deleted_job_is_recorded_with_its_statuses_pods_events_and_samples(machine: Machine) -> None:
    api = Api(machine.kubeconfig)
    api.call("POST", JOBS, job("trained", "echo hello; sleep 1000", 2))
    until(machine, "trained", lambda found: {each.pod for each in found.samples} == {each.uid for each in found.pods})
    api.call("DELETE", f"{JOBS}/trained")
    found = until(machine, "trained", lambda found: found.job.deleted and all(pod.deleted for pod in found.pods))
    assert [each.name for each in found.pods] == ["trained-worker-0", "trained-worker-1"]
    states = [[each["type"] for each in json.loads(status.status).get("conditions", ())] for status in found.statuses]
    assert ["Created", "Running"] in states
    assert states.index(["Created", "Running"]) > 0
    reasons = {json.loads(each.object)["reason"] for each in found.events}
    assert {"SuccessfulCreatePod", "Started"} <= reasons
    assert all(each.memory > 0 for each in found.samples)


def test_the_history_survives_kill_9_and_notices_what_was_deleted_without_it(machine: Machine) -> None:
    api = Api(machine.kubeconfig)
    for name in ("first", "second"):
        api.call("POST", JOBS, job(name, "true"))
        until(machine, name, lambda found: "Succeeded" in conditions(found))
    machine.kill()
    machine.up()
    api = Api(machine.kubeconfig)
    api.call("DELETE", f"{JOBS}/first")
    until(machine, "first", lambda found: found.job.deleted)
    machine.down()
    machine.traincrew("up", "--detach", "--no-console")
    Api(machine.kubeconfig).call("DELETE", f"{JOBS}/second")
    machine.down()
    found = recorded(machine, "second")
    assert found is not None
    assert found.job.deleted is None
    machine.up()
    until(machine, "second", lambda found: found.job.deleted and all(pod.deleted for pod in found.pods))


def test_a_job_that_is_created_again_is_another_one(machine: Machine) -> None:
    api = Api(machine.kubeconfig)
    for _ in range(2):
        api.call("POST", JOBS, job("again", "true"))
        until(machine, "again", lambda found: "Succeeded" in conditions(found) and not found.job.deleted)
        api.call("DELETE", f"{JOBS}/again")
        until(machine, "again", lambda found: found.job.deleted)
    store = database_thread.open_store(os.fspath(machine.data / "history.db"), writable=False)
    recordings = [store.recording(each.uid) for each in store.jobs(JobQuery(name="again"))]
    store.close()
    assert [len(each.pods) for each in recordings if each is not None] == [1, 1]


def test_values_of_secret_variables_are_in_no_file_of_the_history(machine: Machine) -> None:
    api = Api(machine.kubeconfig)
    document = job("secretive", "true")
    container = document["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "HF_TOKEN", "value": "hf-0123456789"}, {"name": "MODE", "value": "fast"}]
    api.call("POST", JOBS, document)
    found = until(machine, "secretive", lambda found: found.pods and "Succeeded" in conditions(found))
    for text in (found.job.object, *(each.object for each in found.pods)):
        assert b"hf-0123456789" not in text
        assert b"<redacted>" in text
        assert b"fast" in text


def test_a_damaged_history_does_not_stop_the_cluster(machine: Machine) -> None:
    machine.down()
    for path in machine.data.glob("history.db*"):
        path.unlink()
    (machine.data / "history.db").write_bytes(b"damaged " * 1000)
    machine.up()
    api = Api(machine.kubeconfig)
    api.call("POST", JOBS, job("unrecorded", "true"))
    log = machine.data / "traincrew.log"
    remedy = "Move it away; the recorder then starts a new one"
    eventually(lambda: remedy in log.read_text(), seconds=SECONDS)
    eventually(lambda: "Succeeded" in machine.traincrew("ls"), seconds=SECONDS)


def test_without_the_console_nothing_is_recorded(tmp_path: pathlib.Path) -> None:
    machine = Machine(tmp_path / "quiet")
    machine.traincrew("up", "--detach", "--no-console")
    try:
        assert not (machine.data / "history.db").exists()
        accounts = Api(machine.kubeconfig).call("GET", "/api/v1/namespaces/kubeflow/serviceaccounts")["items"]
        assert "traincrew-recorder" not in {each["metadata"]["name"] for each in accounts}
    finally:
        machine.down()


def test_the_recorder_has_no_right_to_write_or_to_read_secrets(machine: Machine) -> None:
    role = Api(machine.kubeconfig).call("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/traincrew-recorder")
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert not {"secrets", "configmaps", "*"} & {each for rule in role["rules"] for each in rule["resources"]}


async def test_a_recorder_of_some_namespaces_does_not_take_jobs_of_others_for_deleted(
    machine: Machine, tmp_path: pathlib.Path
) -> None:
    api, location = Api(machine.kubeconfig), str(tmp_path / "own.db")
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    for namespace in ("default", "other"):
        api.call("POST", JOBS.replace("default", namespace), job("kept", "sleep 1000"))

    async def until_recorded(namespaces: tuple[str, ...], claim: Callable[[dict[str, Recording]], Any]) -> None:
        def read(store: HistoryStore) -> dict[str, Recording]:
            found = [store.recording(each.uid) for each in store.jobs(JobQuery())]
            return {each.job.namespace: each for each in found if each is not None}

        async with RemoteClient(kubeconfig.load(str(machine.kubeconfig)), component="test") as client:
            thread = database_thread.DatabaseThread(location, writable=True)
            recording = recorder.Recorder(client, thread, settings.History(namespaces=namespaces))
            async with asyncio.timeout(SECONDS), recording.running():
                while not claim(await thread.call(read)):  # noqa: ASYNC110 - the recorder writes in its own time
                    await asyncio.sleep(0.2)
            await thread.close()

    await until_recorded((), lambda found: len(found) == 2 and all(each.pods for each in found.values()))
    api.call("DELETE", f"{JOBS}/kept")
    eventually(lambda: not api.call("GET", JOBS)["items"], seconds=SECONDS)
    await until_recorded(("default",), lambda found: found["default"].job.deleted)
    store = database_thread.open_store(location, writable=False)
    [elsewhere] = store.jobs(JobQuery(namespace="other"))
    kept = store.recording(elsewhere.uid)
    store.close()
    assert kept is not None
    assert kept.job.deleted is None
    assert [pod.deleted for pod in kept.pods] == [None]
