"""Hostile objects of every kind, stored while the operator runs: it plans the other jobs, does not loop, logs no traceback."""

from __future__ import annotations

import asyncio
import collections
import logging
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.cluster import manifests
from tests.embedded.resilience import memory_limits
from tests.hostile.footprint import Footprint, assert_nothing_left
from tests.hostile.hostile_objects import ObjectGenerator
from tests.operator.operator_cluster import NAMESPACE, Cluster, FaultyClient, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors
from traincrew.embedded.apiserver.schema import builtin_kinds
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model.resources import BATCH_JOBS, CONFIG_MAPS, PODS, SERVICES, Resource
from traincrew.validation import crds

SEEDS = range(int(os.environ.get("TRAINCREW_FUZZ_SEEDS", "4")))
JOBS = 60
QUIET = 600.0
"""Seconds of virtual time in which nothing changes but what the operator does itself."""
MOST_REQUESTS = 60
"""Requests for one job in that time. A rejected create is tried again once a minute."""
ROLES: dict[str, dict[str, Any]] = {
    "TFJob": {"PS": 1, "Worker": 2, "Chief": 1},
    "PyTorchJob": {"Master": 1, "Worker": 1},
    "MPIJob": {"Launcher": 1, "Worker": 1},
    "XGBoostJob": {"Master": 1, "Worker": 1},
    "PaddleJob": {"Worker": 2},
    "JAXJob": {"Worker": 2},
}
POD_STATUS: dict[str, Any] = builtin_kinds.load().schema("", "v1", "Pod")["properties"]["status"]
BATCH_STATUS: dict[str, Any] = builtin_kinds.load().schema("batch", "v1", "Job")["properties"]["status"]


def versions() -> list[tuple[JobKind, str]]:
    return [(kind, version) for kind in KINDS for version in crds.versions(kind)]


class Attack:
    def __init__(self, running: Cluster, seed: int) -> None:
        self.running, self.generate = running, ObjectGenerator(seed)
        self.stored: list[tuple[JobKind, str]] = []
        self.rejected = 0

    async def create_job(self, number: int) -> None:
        kind, version = versions()[number % len(versions())]
        name = f"hostile-{number}"
        schema = crds.openapi(kind.plural, version)["properties"]["spec"]
        body = manifests.job(kind.kind, name, version, **ROLES[kind.kind])
        body["spec"] = self.generate.mutated(body["spec"], schema, 1 + number % 4)
        versioned = kind.resource._replace(version=version)
        if await self._accepted(self.running.client.create(versioned, NAMESPACE, msgspec.json.encode(body))):
            self.stored.append((kind, name))

    async def set_job_status(self, kind: JobKind, name: str) -> None:
        schema = crds.openapi(kind.plural, kind.version)["properties"]["status"]
        await self._set_status(kind.resource, name, self.generate.value(schema))

    async def set_pod_status(self, name: str) -> None:
        await self._set_status(PODS, name, self.generate.value(POD_STATUS))

    async def set_launcher_status(self, name: str) -> None:
        await self._set_status(BATCH_JOBS, f"{name}-launcher", self.generate.value(BATCH_STATUS))

    async def create_impostor(self, kind: JobKind, name: str) -> None:
        """An object that claims to be the job's, and one of a name that the job may need."""
        try:
            uid = msgspec.json.decode(await self.running.client.get(kind.resource, NAMESPACE, name))["metadata"]["uid"]
        except errors.NotFound:
            return
        owner = {"apiVersion": "kubeflow.org/v1", "kind": kind.kind, "name": name, "uid": uid, "controller": True}
        labels = {"training.kubeflow.org/job-name": name, "training.kubeflow.org/operator-name": kind.controller}
        for suffix, owners in (("config", []), ("odd", [owner]), ("worker-0", [{**owner, "uid": "other"}])):
            meta = {"name": f"{name}-{suffix}", "labels": labels, "ownerReferences": owners}
            body = msgspec.json.encode({"metadata": meta, "data": {"hostfile": "x"}})
            await self._accepted(self.running.client.create(CONFIG_MAPS, NAMESPACE, body))
            service = msgspec.json.encode({"metadata": meta, "spec": {"clusterIP": "None"}})
            await self._accepted(self.running.client.create(SERVICES, NAMESPACE, service))

    async def change_spec(self, kind: JobKind, name: str) -> None:
        try:
            stored = msgspec.json.decode(await self.running.client.get(kind.resource, NAMESPACE, name))
        except errors.NotFound:
            return  # its time to live was over
        schema = crds.openapi(kind.plural, kind.version)["properties"]["spec"]
        stored["spec"] = self.generate.mutated(stored["spec"], schema, 2)
        await self._accepted(self.running.client.replace(kind.resource, NAMESPACE, name, msgspec.json.encode(stored)))

    async def _set_status(self, resource: Resource, name: str, status: Any) -> None:
        body = msgspec.json.encode({"status": status})
        await self._accepted(self.running.client.patch(resource, NAMESPACE, name, body, subresource="status"))

    async def _accepted(self, request: Any) -> bool:
        try:
            await request
        except (errors.Rejected, errors.Conflict, errors.AlreadyExists, errors.NotFound, errors.Forbidden):
            self.rejected += 1
            return False
        return True


async def healthy_job_succeeds(running: Cluster, name: str) -> None:
    await running.create(manifests.job("PyTorchJob", name, Master=1))
    await asyncio.sleep(5)
    assert f"{name}-master-0" in await running.pods()
    await running.set_phase(f"{name}-master-0", "Succeeded")
    await asyncio.sleep(5)
    assert "Succeeded" in await running.conditions(name)


def busiest(client: FaultyClient, since: float) -> list[tuple[str, int]]:
    calls = collections.Counter(
        "-".join(call.name.split(".")[0].split("-")[:2]) for call in client.calls if call.time > since and call.name
    )
    return [each for each in calls.most_common(5) if each[1] > MOST_REQUESTS]


@pytest.fixture(autouse=True)
def _memory_limit() -> Iterator[None]:
    """The server runs in this process."""
    with memory_limits.of_this_process():
        yield


@pytest.mark.parametrize("seed", SEEDS)
def test_hostile_objects_neither_stop_nor_occupy_the_operator(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    caplog.set_level(logging.WARNING)
    footprint = Footprint(tmp_path)
    attack_operator(tmp_path, seed)
    failures = [record for record in caplog.records if record.exc_info or record.message == "reconcile failed"]
    assert_nothing_left(footprint, cluster=True)
    assert [f"{vars(record).get('job')} {vars(record).get('error')} {record.exc_text}" for record in failures] == []


@in_virtual_time
async def attack_operator(data: pathlib.Path, seed: int) -> None:
    async with cluster(data) as running, running.operator() as client:
        attack = Attack(running, seed)
        for number in range(JOBS):
            await attack.create_job(number)
        await asyncio.sleep(5)
        await healthy_job_succeeds(running, "healthy-0")
        for pod in await running.pods():
            if pod.startswith("hostile-"):
                await attack.set_pod_status(pod)
        for kind, name in attack.stored:
            await attack.set_launcher_status(name)
            await attack.create_impostor(kind, name)
            await attack.set_job_status(kind, name)
        await asyncio.sleep(30)
        await healthy_job_succeeds(running, "healthy-1")
        for kind, name in attack.stored:
            await attack.change_spec(kind, name)
        await asyncio.sleep(600)
        since = asyncio.get_running_loop().time()
        await asyncio.sleep(QUIET)
        assert busiest(client, since) == []
        await healthy_job_succeeds(running, "healthy-2")
        assert len(attack.stored) > JOBS / 3, f"{attack.rejected} requests were rejected: the attack is none"
