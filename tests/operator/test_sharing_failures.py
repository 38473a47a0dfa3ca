"""Elastic jobs while the operator cannot decide, and what preemption costs them. Real API server and scheduler, virtual time."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pathlib
from collections.abc import AsyncGenerator
from typing import Any

from tests.operator.operator_cluster import Cluster, cluster
from tests.operator.test_sharing import GPU, ReadingClient, create_pod, elastic, elastic_job, machine
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors, settings
from traincrew.client import interfaces
from traincrew.model.resources import NODES, Resource

HEALTHY = settings.Operator(metrics_address="0", health_address="0")
FAILING = dataclasses.replace(HEALTHY, sharing=settings.Sharing(headroom_fractions={GPU: float("nan")}))
"""Settings with which no decision can be made. The command line refuses them."""


class RestartedServer(ReadingClient):
    """Ends its watches of the forbidden resource, too."""

    async def watch(
        self, resource: Resource, namespace: str | None, **options: Any
    ) -> AsyncGenerator[interfaces.WatchEvent, None]:
        self._check(resource)
        async for change in super().watch(resource, namespace, **options):
            self._check(resource)
            yield change

    def _check(self, resource: Resource) -> None:
        if resource.plural == self.forbidden:
            raise errors.Forbidden(f"{resource.plural} is forbidden")


async def change_node(on: Cluster, text: str) -> None:
    body = {"metadata": {"annotations": {"changed": text}}}
    await on.client.patch(NODES, None, "machine", json.dumps(body).encode())


@in_virtual_time
async def test_a_server_that_forbids_for_a_moment_takes_no_workers_away(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on):
        client = RestartedServer(on.control_plane.system_client("operator"))
        async with on.operator(client):
            await on.create(elastic_job())
            await asyncio.sleep(60)
            client.forbidden = "nodes"
            await change_node(on, "1")
            for _ in range(40):
                await asyncio.sleep(1)
                assert (await elastic(on))["members"] == "0-3"
            client.forbidden = ""
            await asyncio.sleep(10)
            await change_node(on, "2")
            await asyncio.sleep(60)
            assert ((await elastic(on))["members"], len(await on.pods())) == ("0-3", 4)
            client.forbidden = "nodes"
            await change_node(on, "3")
            await asyncio.sleep(120)
            state = await elastic(on)
            assert (state["scaling"], "may not read nodes" in state["why"]["message"]) == ("manual", True)


@in_virtual_time
async def test_decisions_that_fail_for_a_while_are_reported_on_the_jobs_which_keep_their_workers(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on):
        async with on.operator(options=HEALTHY):
            await on.create(elastic_job())
            await asyncio.sleep(60)
            assert (await elastic(on))["members"] == "0-3"
        async with on.operator(options=FAILING):
            await asyncio.sleep(10)
            assert (await elastic(on))["why"]["reason"] == "AtMaximum", "it may be over soon"
            await asyncio.sleep(50)
            state = await elastic(on)
            assert (state["members"], state["scaling"], state["why"]["reason"]) == ("0-3", "idle", "DecisionFailed")
            assert "cannot choose the number of workers" in state["why"]["message"]
            assert "cannot convert float NaN to integer" in state["why"]["message"]
            assert len(await on.pods()) == 4
        async with on.operator(options=HEALTHY):
            await asyncio.sleep(60)
            state = await elastic(on)
            assert (state["members"], state["why"]["reason"]) == ("0-3", "AtMaximum")


@in_virtual_time
async def test_a_job_pays_for_the_work_that_a_preemption_throws_away_and_names_the_other_pod(tmp_path: pathlib.Path) -> None:
    """Whoever sees it first, the planner or the decision, and with pods that end at once or later."""
    saving: dict[str, Any] = {"checkpoint-seconds": "300"}
    for number, period in enumerate((0.3, 1.0, 8.0)):
        data = tmp_path / str(number)
        data.mkdir()
        async with cluster(data) as on, machine(on, period=period), on.operator():
            await on.create(elastic_job(**saving))
            await asyncio.sleep(200)
            assert (await elastic(on))["members"] == "0-3"
            await create_pod(on, "other", 2)
            await asyncio.sleep(90)
            state = await elastic(on)
            assert (state["members"], state["why"]["reason"]) == ("0-1", "CoolingDown")
            assert "it pays until" in state["why"]["message"]
            named = {f"scaled from 4 to 2 workers: Pod default/other {verb} 2 {GPU}" for verb in ("needed", "waits for")}
            assert state["lastResize"]["message"] in named
