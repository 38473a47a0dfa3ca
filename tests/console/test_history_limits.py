"""The limit of the list of recorded jobs counts those that the user may read."""

from __future__ import annotations

import json
import os
import pathlib

from tests.console.console_fixture import Machine
from tests.console.test_history import READ_JOBS, user
from tests.history import recordings

from traincrew.history import database_thread
from traincrew.history.records import Batch, JobRecord, LogChunk

TIME = recordings.TIME


def record(namespace: str, number: int, created: int) -> JobRecord:
    uid = f"{namespace}-{number}"
    document = recordings.job().object
    document["metadata"] |= {"name": uid, "namespace": namespace, "uid": uid}
    return JobRecord(uid, namespace, "jaxjob", uid, created, created + 1, json.dumps(document).encode())


def write(path: pathlib.Path, batch: Batch, *chunks: LogChunk) -> pathlib.Path:
    store = database_thread.open_store(os.fspath(path), writable=True)
    store.write(batch)
    for chunk in chunks:
        store.write_log(chunk)
    store.close()
    return path


async def test_newer_jobs_of_others_hide_none_of_the_user(machine: Machine, tmp_path: pathlib.Path) -> None:
    others = [record("rich", number, TIME + 1000 + number) for number in range(20)]
    own = [record("poor", number, TIME + number) for number in range(3)]
    history = write(tmp_path / "history.db", Batch(jobs=(*others, *own)))
    async with user(machine, tmp_path, "poor", READ_JOBS, history=history) as visitor:

        async def listed(limit: int) -> tuple[list[str], bool]:
            found = await visitor.get(f"history/jobs?limit={limit}")
            return [each["summary"]["name"] for each in found["jobs"]], found["truncated"]

        assert await listed(5) == (["poor-2", "poor-1", "poor-0"], False)
        assert await listed(3) == (["poor-2", "poor-1", "poor-0"], False)
        assert await listed(2) == (["poor-2", "poor-1"], True)
        objects = (await visitor.get("history/objects?limit=3"))["objects"]
        assert [each["uid"] for each in objects] == ["poor-2", "poor-1", "poor-0"]
        assert (await visitor.get("history/jobs?namespace=rich"))["jobs"] == []
