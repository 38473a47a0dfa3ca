"""Writes and reads records. All methods wait for the disk: call them in a thread (`database_thread.py`)."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from traincrew import errors
from traincrew.history.database import HistoryDatabase
from traincrew.history.records import (
    Batch,
    EventRecord,
    JobQuery,
    JobRecord,
    JobScope,
    LogChunk,
    PodRecord,
    Recording,
    SampleRecord,
    StatusRecord,
)

_LEVEL = 3
_JOB_COLUMNS = "uid, namespace, kind, name, created, deleted, object"
_POD_COLUMNS = "uid, job, name, created, deleted, object"
_MAX_NAMES = 500
"""Values of one statement."""


T = TypeVar("T")


class StoreAccess(Protocol):
    """The store, where nobody waits for it: `database_thread.py`."""

    async def call(self, function: Callable[[HistoryStore], T]) -> T:
        """Raise StoreError."""
        ...

    async def close(self) -> None: ...


class HistoryStore:
    def __init__(self, database: HistoryDatabase) -> None:
        self._database = database

    def write(self, batch: Batch) -> None:
        """All or nothing. Writing a batch twice is harmless."""
        database = self._database
        with database.transaction():
            database.executemany(
                f"INSERT INTO jobs ({_JOB_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (uid) DO UPDATE SET object = excluded.object",
                [(*each[:6], _packed(each.object)) for each in batch.jobs],
            )
            for status in batch.statuses:
                self._write_status(status)
            database.executemany(
                "INSERT INTO pods (uid, job, name, created, deleted, object) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (uid) DO UPDATE SET object = excluded.object",
                [(*each[:5], _packed(each.object)) for each in batch.pods],
            )
            database.executemany(
                "INSERT INTO events (uid, involved, time, object) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (uid) DO UPDATE SET time = excluded.time, object = excluded.object",
                [(*each[:3], _packed(each.object)) for each in batch.events],
            )
            database.executemany("INSERT INTO samples VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", batch.samples)
            for table in ("jobs", "pods"):
                database.executemany(
                    f"UPDATE {table} SET deleted = ? WHERE uid = ? AND deleted IS NULL",
                    [(time, uid) for uid, time in batch.deleted],
                )

    def _write_status(self, record: StatusRecord) -> None:
        last = self._database.execute("SELECT status FROM statuses WHERE job = ? ORDER BY time DESC LIMIT 1", (record.job,))
        if not last or _unpacked(last[0][0]) != record.status:
            self._database.execute("INSERT INTO statuses VALUES (?, ?, ?)", (*record[:2], _packed(record.status)))

    def job_of(self, owner: str, kind: str, namespace: str, name: str) -> str:
        """The UID of the job with the UID of the owner, else of the last one of the name. Empty: there is none."""
        rows = self._database.execute(
            "SELECT uid FROM jobs WHERE uid = ? OR (kind = ? AND namespace = ? AND name = ?) "
            "ORDER BY CASE WHEN uid = ? THEN 0 ELSE 1 END, created DESC LIMIT 1",
            (owner, kind, namespace, name, owner),
        )
        return rows[0][0] if rows else ""

    def write_log(self, chunk: LogChunk) -> None:
        """A chunk that is there is replaced: it has grown."""
        self._database.execute(
            "INSERT INTO logs VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (pod, container, run, number) DO UPDATE SET time = excluded.time, lines = excluded.lines",
            (*chunk[:5], _packed(chunk.lines)),
        )

    def trim_log(self, pod: str, container: str, size: int) -> None:
        """Remove the oldest chunks of a log that is larger, as it is stored."""
        rows = self._database.execute(
            "SELECT run, number, length(lines) FROM logs WHERE pod = ? AND container = ? ORDER BY run DESC, number DESC",
            (pod, container),
        )
        totals = itertools.accumulate(row[2] for row in rows)
        for (run, number, _), total in zip(rows, totals, strict=True):
            if total > size:
                where = "pod = ? AND container = ? AND (run < ? OR (run = ? AND number <= ?))"
                self._database.execute(f"DELETE FROM logs WHERE {where}", (pod, container, run, run, number))
                return

    def remove_run(self, pod: str, container: str, run: int) -> None:
        self._database.execute("DELETE FROM logs WHERE pod = ? AND container = ? AND run = ?", (pod, container, run))

    def existing(self, namespaces: Sequence[str] = ()) -> set[str]:
        """UIDs of the jobs and pods of these namespaces that are not known to be deleted. No namespaces: of all."""
        where = f" AND namespace IN ({', '.join('?' * len(namespaces))})" if namespaces else ""
        own = f"SELECT uid FROM jobs WHERE deleted IS NULL{where}"
        pods = f"SELECT pods.uid FROM pods JOIN jobs ON jobs.uid = pods.job WHERE pods.deleted IS NULL{where}"
        return {row[0] for statement in (own, pods) for row in self._database.execute(statement, namespaces)}

    def jobs(self, query: JobQuery) -> list[JobRecord]:
        """The newest first."""
        parts = [None] if query.scopes is None else list(_parts(query.scopes))
        rows = [row for part in parts for row in self._jobs(query, part)]
        if len(parts) > 1:
            rows = sorted(rows, key=lambda row: (-row[4], row[0]))[: query.limit]
        return [JobRecord._make((*row[:6], _unpacked(row[6]))) for row in rows]

    def _jobs(self, query: JobQuery, scopes: Sequence[JobScope] | None) -> list[tuple[Any, ...]]:
        where, values = _conditions(query)
        if scopes is not None:
            where += f" AND (kind, namespace) IN (VALUES {', '.join(['(?, ?)'] * len(scopes))})"
            values += [value for scope in scopes for value in scope]
        statement = f"SELECT {_JOB_COLUMNS} FROM jobs WHERE {where} ORDER BY created DESC, uid LIMIT ?"
        return self._database.execute(statement, [*values, query.limit])

    def scopes(self, query: JobQuery) -> list[JobScope]:
        """The kinds and namespaces of the jobs, whatever their number."""
        where, values = _conditions(query)
        return [
            JobScope._make(row)
            for row in self._database.execute(f"SELECT DISTINCT kind, namespace FROM jobs WHERE {where}", values)
        ]

    def recording(self, uid: str) -> Recording | None:
        jobs = self.jobs(JobQuery(uid=uid))
        if not jobs:
            return None
        execute = self._database.execute
        pods = execute(f"SELECT {_POD_COLUMNS} FROM pods WHERE job = ? ORDER BY created, name", (uid,))
        names = [uid, *(row[0] for row in pods)]
        return Recording(
            jobs[0],
            tuple(self.statuses(uid)),
            tuple(PodRecord._make((*row[:5], _unpacked(row[5]))) for row in pods),
            tuple(
                EventRecord._make((*row[:3], _unpacked(row[3])))
                for row in self._of("uid, involved, time, object", "events", "involved", names, "time")
            ),
            tuple(SampleRecord._make(row) for row in self._of("pod, time, cpu, memory", "samples", "pod", names, "time")),
        )

    def statuses(self, uid: str) -> list[StatusRecord]:
        """Of one job, the oldest first."""
        rows = self._database.execute("SELECT job, time, status FROM statuses WHERE job = ? ORDER BY time", (uid,))
        return [StatusRecord._make((*row[:2], _unpacked(row[2]))) for row in rows]

    def _of(self, columns: str, table: str, column: str, values: Sequence[str], order: str) -> Iterator[tuple[Any, ...]]:
        for part in _parts(values):
            places = ", ".join("?" * len(part))
            yield from self._database.execute(
                f"SELECT {columns} FROM {table} WHERE {column} IN ({places}) ORDER BY {order}", part
            )

    def logged_containers(self, job: str) -> list[tuple[PodRecord, str]]:
        """The containers of a job that have recorded logs, the oldest pods first."""
        containers = self._database.execute(
            "SELECT DISTINCT pod, container FROM logs WHERE pod IN (SELECT uid FROM pods WHERE job = ?) ORDER BY container",
            (job,),
        )
        rows = self._database.execute(f"SELECT {_POD_COLUMNS} FROM pods WHERE job = ? ORDER BY created, name", (job,))
        pods = [PodRecord._make((*row[:5], _unpacked(row[5]))) for row in rows]
        return [(pod, container) for pod in pods for uid, container in containers if uid == pod.uid]

    def samples(self, job: str) -> dict[str, list[SampleRecord]]:
        """By the name of the pod: a pod that replaces another continues its series."""
        rows = self._database.execute(
            "SELECT pods.name, samples.pod, samples.time, samples.cpu, samples.memory FROM samples "
            "JOIN pods ON pods.uid = samples.pod WHERE pods.job = ? ORDER BY pods.name, samples.time",
            (job,),
        )
        names = itertools.groupby(rows, key=lambda row: row[0])
        return {name: [SampleRecord._make(row[1:]) for row in group] for name, group in names}

    def containers(self, pod: str) -> list[str]:
        """Those that have recorded logs."""
        rows = self._database.execute("SELECT DISTINCT container FROM logs WHERE pod = ? ORDER BY container", (pod,))
        return [row[0] for row in rows]

    def log(self, pod: str, container: str, after: tuple[int, int] = (-1, -1)) -> LogChunk | None:
        """The next chunk after one with this run and number."""
        rows = self._database.execute(
            "SELECT pod, container, run, number, time, lines FROM logs WHERE pod = ? AND container = ? "
            "AND (run > ? OR (run = ? AND number > ?)) ORDER BY run, number LIMIT 1",
            (pod, container, after[0], after[0], after[1]),
        )
        return LogChunk._make((*rows[0][:5], _unpacked(rows[0][5]))) if rows else None

    def last_log(self, pod: str, container: str) -> LogChunk | None:
        rows = self._database.execute(
            "SELECT pod, container, run, number, time, lines FROM logs WHERE pod = ? AND container = ? "
            "ORDER BY run DESC, number DESC LIMIT 1",
            (pod, container),
        )
        return LogChunk._make((*rows[0][:5], _unpacked(rows[0][5]))) if rows else None

    def remove_older(self, time: int) -> int:
        """Remove jobs that were deleted before, and events of objects that are not recorded. Returns the number of jobs."""
        rows = self._database.execute("SELECT uid FROM jobs WHERE deleted < ?", (time,))
        self._remove([row[0] for row in rows])
        self._database.execute(
            "DELETE FROM events WHERE time < ? AND involved NOT IN (SELECT uid FROM jobs UNION SELECT uid FROM pods)", (time,)
        )
        return len(rows)

    def shrink(self, size: int) -> int:
        """Remove the jobs that were deleted first until the database is no larger. Returns the number of jobs."""
        removed = 0
        while self._database.size() > size:
            rows = self._database.execute("SELECT uid FROM jobs WHERE deleted IS NOT NULL ORDER BY deleted LIMIT 10")
            if not rows and not self._thin():
                break
            self._remove([row[0] for row in rows])
            removed += len(rows)
            self._database.release()
        return removed

    def _thin(self) -> bool:
        """Only jobs that exist are left: remove the older half of their logs and samples. False: there are none."""
        found = False
        for table in ("logs", "samples"):
            first, last = self._database.execute(f"SELECT min(time), max(time) FROM {table}")[0]
            if first is not None:
                self._database.execute(f"DELETE FROM {table} WHERE time <= ?", ((first + last) // 2,))
                found = True
        return found

    def _remove(self, jobs: Iterable[str]) -> None:
        for job in jobs:
            with self._database.transaction():
                own = (job,)
                pods = "SELECT uid FROM pods WHERE job = ?"
                self._database.execute(f"DELETE FROM logs WHERE pod IN ({pods})", own)
                self._database.execute(f"DELETE FROM samples WHERE pod IN ({pods})", own)
                self._database.execute(f"DELETE FROM events WHERE involved = ? OR involved IN ({pods})", (job, job))
                for table, column in (("pods", "job"), ("statuses", "job"), ("jobs", "uid")):
                    self._database.execute(f"DELETE FROM {table} WHERE {column} = ?", own)

    def close(self) -> None:
        self._database.close()


def _conditions(query: JobQuery) -> tuple[str, list[Any]]:
    """Without the scopes."""
    wanted = {"uid": query.uid, "namespace": query.namespace, "kind": query.kind, "name": query.name}
    conditions = ["1 = 1", *(f"{column} = ?" for column, value in wanted.items() if value)]
    if query.deleted is not None:
        conditions.append(f"deleted IS {'NOT ' if query.deleted else ''}NULL")
    return " AND ".join(conditions), [value for value in wanted.values() if value]


def _parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _MAX_NAMES):
        yield values[start : start + _MAX_NAMES]


def _packed(text: bytes) -> bytes:
    return zlib.compress(text, _LEVEL)


def _unpacked(packed: bytes) -> bytes:
    try:
        return zlib.decompress(bytes(packed))
    except zlib.error as error:
        raise errors.StoreError(f"the history is damaged ({error}). Move it away; the recorder then starts a new one.") from error
