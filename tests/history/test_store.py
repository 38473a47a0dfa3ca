"""The store in SQLite and in PostgreSQL: what is written is read, limits hold, a newer version is refused."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from tests.history.postgres_server import PostgresServer

from traincrew import errors
from traincrew.history import database_thread
from traincrew.history.database_thread import DatabaseThread
from traincrew.history.records import (
    Batch,
    EventRecord,
    JobQuery,
    JobRecord,
    JobScope,
    LogChunk,
    PodRecord,
    SampleRecord,
    StatusRecord,
)
from traincrew.history.store import HistoryStore

WRITER = """
import sys
from traincrew.history import database_thread
from traincrew.history.records import Batch, JobRecord, PodRecord
store = database_thread.open_store(sys.argv[1], writable=True)
for number in range(10**9):
    uid = f"{number:09}"
    store.write(Batch(jobs=(JobRecord(uid, "a", "jaxjob", uid, number, None, b"{}"),),
                      pods=(PodRecord(uid, uid, uid, number, None, b"{}"),)))
    print(uid, flush=True)
"""


def job(uid: str, created: int = 1, *, namespace: str = "a", text: bytes = b"{}") -> JobRecord:
    return JobRecord(uid, namespace, "jaxjob", f"name-{uid}", created, None, text)


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> str:
    if request.param == "sqlite":
        return os.fspath(tmp_path / "history.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url(server.new_database())


@pytest.fixture
def store(location: str) -> Iterator[HistoryStore]:
    found = database_thread.open_store(location, writable=True)
    yield found
    found.close()


def test_a_recording_has_everything_of_its_job_and_nothing_of_others(store: HistoryStore) -> None:
    for uid in ("one", "two"):
        pod = PodRecord(f"pod-{uid}", uid, "worker-0", 1, None, b'{"pod":1}')
        events = (EventRecord(f"event-{uid}", uid, 5, b"{}"), EventRecord(f"pod-event-{uid}", pod.uid, 4, b"{}"))
        statuses = (StatusRecord(uid, 2, b'{"a":1}'), StatusRecord(uid, 3, b'{"a":1}'), StatusRecord(uid, 4, b'{"a":2}'))
        store.write(Batch((job(uid),), statuses, (pod,), events, (SampleRecord(pod.uid, 7, 0.5, 10),)))
    found = store.recording("two")
    assert found is not None
    assert found.job == job("two")
    assert [each.status for each in found.statuses] == [b'{"a":1}', b'{"a":2}']  # a status that has not changed is no change
    assert [each.uid for each in found.pods] == ["pod-two"]
    assert {each.uid for each in found.events} == {"event-two", "pod-event-two"}
    assert found.samples == (SampleRecord("pod-two", 7, 0.5, 10),)
    assert store.recording("three") is None


def test_deletions_are_kept_when_the_object_is_written_again(store: HistoryStore) -> None:
    store.write(Batch((job("one"),), deleted=(("one", 9),)))
    store.write(Batch((job("one", text=b'{"later":1}'),)))
    assert store.jobs(JobQuery()) == [job("one", text=b'{"later":1}')._replace(deleted=9)]
    assert store.existing() == set()


def test_jobs_are_selected(store: HistoryStore) -> None:
    store.write(Batch((job("one", 1), job("two", 2, namespace="b"), job("three", 3)), deleted=(("three", 9),)))
    assert [each.uid for each in store.jobs(JobQuery())] == ["three", "two", "one"]
    assert [each.uid for each in store.jobs(JobQuery(namespace="a"))] == ["three", "one"]
    assert [each.uid for each in store.jobs(JobQuery(deleted=True))] == ["three"]
    assert [each.uid for each in store.jobs(JobQuery(deleted=False, limit=1))] == ["two"]
    assert [each.uid for each in store.jobs(JobQuery(name="name-one"))] == ["one"]


def test_jobs_are_selected_by_kind_and_namespace_before_they_are_limited(store: HistoryStore) -> None:
    store.write(Batch(tuple(job(f"{number:04}", number, namespace=f"n{number % 700}") for number in range(1400))))
    assert set(store.scopes(JobQuery())) == {JobScope("jaxjob", f"n{number}") for number in range(700)}
    assert store.scopes(JobQuery(namespace="n7", limit=1)) == [JobScope("jaxjob", "n7")]
    old = (JobScope("jaxjob", "n0"), JobScope("tfjob", "n1"))
    assert [each.uid for each in store.jobs(JobQuery(scopes=old, limit=5))] == ["0700", "0000"]
    assert [each.uid for each in store.jobs(JobQuery(scopes=old, limit=1))] == ["0700"]
    assert store.jobs(JobQuery(scopes=())) == []
    most = tuple(JobScope("jaxjob", f"n{number}") for number in range(699))  # more than the values of one statement
    assert [each.uid for each in store.jobs(JobQuery(scopes=most, limit=3))] == ["1398", "1397", "1396"]


def test_samples_and_logs_of_the_pods_of_a_job_are_found(store: HistoryStore) -> None:
    pods = tuple(PodRecord(uid, "one", "worker-0", created, None, b"{}") for uid, created in (("second", 2), ("first", 1)))
    samples = tuple(SampleRecord(uid, time, 0.5, 10) for uid, time in (("second", 20), ("first", 10), ("alien", 5)))
    store.write(Batch((job("one"),), pods=pods, samples=samples))
    for uid in ("second", "first", "alien"):
        store.write_log(LogChunk(uid, "jax", 0, 0, 1, b"line"))
    assert store.samples("one") == {"worker-0": [SampleRecord("first", 10, 0.5, 10), SampleRecord("second", 20, 0.5, 10)]}
    assert [(pod.uid, container) for pod, container in store.logged_containers("one")] == [("first", "jax"), ("second", "jax")]


def test_chunks_of_logs_are_read_in_order(store: HistoryStore) -> None:
    chunks = [LogChunk("pod", "jax", run, number, 1, f"{run}.{number}".encode()) for run in (0, 1) for number in (0, 1)]
    for each in (*reversed(chunks), chunks[0]):
        store.write_log(each)
    read, after = list[LogChunk](), (-1, -1)
    while (found := store.log("pod", "jax", after)) is not None:
        read.append(found)
        after = (found.run, found.number)
    assert read == chunks
    assert store.last_log("pod", "jax") == chunks[-1]
    assert store.containers("pod") == ["jax"]


def test_jobs_that_were_deleted_long_ago_are_removed_with_all_that_belongs_to_them(store: HistoryStore) -> None:
    for uid, deleted in (("old", 10), ("new", 30)):
        pods, events = (PodRecord(f"pod-{uid}", uid, "p", 1, None, b"{}"),), (EventRecord(f"e-{uid}", f"pod-{uid}", 1, b"{}"),)
        store.write(Batch((job(uid),), (), pods, events, (SampleRecord(f"pod-{uid}", 1, 1.0, 1),), ((uid, deleted),)))
        store.write_log(LogChunk(f"pod-{uid}", "c", 0, 0, 1, b"line"))
    store.write(Batch((job("exists"),), events=(EventRecord("orphan", "other-pod", 1, b"{}"),)))
    assert store.remove_older(20) == 1
    assert {each.uid for each in store.jobs(JobQuery())} == {"new", "exists"}
    assert store.log("pod-old", "c") is None
    assert store.log("pod-new", "c") is not None
    remaining = store.recording("new")
    assert remaining is not None
    assert remaining.events
    assert remaining.samples


def test_a_history_that_is_too_large_loses_the_jobs_that_were_deleted_first(store: HistoryStore) -> None:
    for number in range(30):
        store.write(Batch((job(f"{number:02}", text=os.urandom(20_000)),), deleted=((f"{number:02}", number),)))
    store.write(Batch((job("exists", text=os.urandom(20_000)),)))
    assert store.shrink(300_000) == 20
    assert {each.uid for each in store.jobs(JobQuery())} == {*(f"{number:02}" for number in range(20, 30)), "exists"}
    assert store.shrink(300_000) == 0


def test_logs_of_jobs_that_exist_are_removed_if_there_is_nothing_else(store: HistoryStore) -> None:
    store.write(Batch((job("exists"),), pods=(PodRecord("pod", "exists", "p", 1, None, b"{}"),)))
    for number in range(20):
        store.write_log(LogChunk("pod", "c", 0, number, number, os.urandom(20_000)))
    store.shrink(250_000)
    first = store.log("pod", "c")
    assert first is not None
    assert first.number >= 10
    assert store.last_log("pod", "c") is not None
    assert store.jobs(JobQuery())


def test_a_writer_that_is_killed_leaves_whole_transactions(location: str) -> None:
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", WRITER, location], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            acknowledged = [writer.stdout.readline() for _ in range(40)][-1].decode().strip()
            writer.send_signal(signal.SIGKILL)
        store = database_thread.open_store(location, writable=True)
        jobs = {each.uid for each in store.jobs(JobQuery(limit=10**6))}
        assert acknowledged in jobs
        assert all(recording.pods for uid in jobs if (recording := store.recording(uid)) is not None)
        store.close()


def test_a_store_of_a_newer_version_is_refused(location: str, store: HistoryStore) -> None:
    store.close()
    newer = database_thread.open_database(location, writable=True)
    newer.execute("UPDATE history_schema SET version = 99")
    newer.close()
    for writable in (True, False):
        with pytest.raises(errors.StoreError, match=r"newer version of traincrew \(schema version 99"):
            database_thread.open_store(location, writable=writable)


def test_a_reader_cannot_write(location: str, store: HistoryStore) -> None:
    store.write(Batch((job("one"),)))
    reader = database_thread.open_store(location, writable=False)
    assert [each.uid for each in reader.jobs(JobQuery())] == ["one"]
    with pytest.raises(errors.StoreError):
        reader.write(Batch((job("two"),)))
    reader.close()


async def test_the_event_loop_runs_while_the_store_waits(location: str) -> None:
    thread, is_open = DatabaseThread(location, writable=True), threading.Event()
    waiting = asyncio.create_task(thread.call(lambda store: is_open.wait(60)))
    await asyncio.sleep(0)
    is_open.set()  # nobody could, if the call blocked the loop
    assert await waiting
    await thread.close()
