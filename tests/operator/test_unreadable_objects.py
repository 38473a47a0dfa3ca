"""Objects that the API server stores and the operator cannot read: it says so once, ignores the part, and goes on."""

from __future__ import annotations

import asyncio
import logging
import pathlib
from typing import Any

import msgspec
import pytest
from tests.cluster.manifests import job
from tests.operator.operator_cluster import NAMESPACE, PYTORCH, Cluster, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew.model import jobs, meta, objects
from traincrew.model.lenient_decoding import LenientDecoder, Unreadable
from traincrew.model.observed import Observed, UnreadableObject
from traincrew.model.resources import PODS, Resource
from traincrew.operator.unreadable_objects import UnreadableObjects, event

YEAR_ZERO = "0000-01-01T00:00:00Z"


async def set_status(running: Cluster, resource: Resource, name: str, status: dict[str, Any]) -> None:
    await running.client.patch(resource, NAMESPACE, name, msgspec.json.encode({"status": status}), subresource="status")


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


@in_virtual_time
async def test_a_status_of_the_year_0_is_reported_once_and_the_job_goes_on(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster(tmp_path) as running, running.operator() as client:
        await running.create(job("PyTorchJob", Master=1))
        await asyncio.sleep(1)
        await set_status(running, PYTORCH, "j", {"completionTime": YEAR_ZERO})
        await running.set_phase("j-master-0", "Running")
        await asyncio.sleep(60)
        written = len(client.status_writes())
        assert await running.conditions() == ["Created", "Running"]
        await asyncio.sleep(3600)
        assert len(client.status_writes()) == written, "a settled job is not written again"
        await running.set_phase("j-master-0", "Succeeded")
        await asyncio.sleep(1)
        assert "Succeeded" in await running.conditions()
        (report,) = [message for reason, message in await running.events() if reason == "UnreadableFields"]
        assert "status.completionTime" in report
        assert complaints(caplog) == ["ignoring unreadable fields"]


@in_virtual_time
async def test_a_new_operator_reads_what_it_can_of_a_job(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        await running.create(job("PyTorchJob", Master=1))
        created = {"type": "Created", "status": "True", "lastUpdateTime": YEAR_ZERO}
        await set_status(running, PYTORCH, "j", {"startTime": YEAR_ZERO, "conditions": [created]})
        async with running.operator():
            await asyncio.sleep(1)
            assert await running.pods() == ["j-master-0"]
            assert (await running.job())["status"]["startTime"] != YEAR_ZERO


def test_an_unreadable_pod_is_one_of_its_job_until_it_is_readable_or_gone() -> None:
    found = UnreadableObjects()
    read = found.noting(PODS, LenientDecoder[objects.Pod](objects.Pod).decode)
    stored = jobs.JobObject(spec=jobs.JobSpec(), metadata=meta.Meta(name="j", uid="1"))

    def pod(start: str) -> objects.Pod:
        body = {"metadata": {"name": "j-master-0", "uid": "2"}, "status": {"phase": "Running", "startTime": start}}
        decoded: objects.Pod = read(msgspec.json.encode(body))
        return decoded

    observed = Observed(pods=(pod(YEAR_ZERO),))
    (entry,) = found.among(stored, observed)
    assert (entry.kind, entry.name, [part.path for part in entry.parts]) == ("Pod", "j-master-0", ["status.startTime"])
    assert observed.pods[0].status.phase == "Running"
    assert "Pod j-master-0" in event(entry).message
    pod("2020-01-01T00:00:00Z")
    assert found.among(stored, observed) == ()
    pod(YEAR_ZERO)
    found.forget("2")
    assert found.among(stored, observed) == ()


def test_a_report_names_the_first_parts_and_counts_the_others() -> None:
    parts = tuple(Unreadable(f"status.conditions[{index}]", "Expected `str`") for index in range(1000))
    message = event(UnreadableObject("JAXJob", "j", parts)).message
    assert "status.conditions[2]" in message
    assert message.endswith("; and 997 more")
