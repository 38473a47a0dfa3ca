"""Worker seconds of an elastic job, in its status and in the metrics, agree with the lives of its pods."""

from __future__ import annotations

import asyncio
import datetime as dt
import pathlib

import msgspec
import pytest
from tests.operator.operator_cluster import NAMESPACE, PYTORCH, Cluster, cluster, now
from tests.operator.test_sharing import create_pod, elastic, elastic_job, machine
from tests.operator.virtual_time import in_virtual_time

from traincrew import settings
from traincrew.kinds import KINDS
from traincrew.model.resources import PODS
from traincrew.model.status import WorkerSeconds
from traincrew.operator.metrics import Metrics
from traincrew.operator.run import Clients, Operator

ON_NODES = ("asked", "surplus", "starting", "leaving")


class Lives:
    """Watches the worker pods, as an observer beside the operator."""

    def __init__(self, on: Cluster) -> None:
        self._on = on
        self._bound: dict[str, dt.datetime] = {}
        self._gone: dict[str, dt.datetime] = {}

    async def run(self) -> None:
        version = [page.resource_version async for page in self._on.client.pages(PODS, NAMESPACE)][-1]
        async for event in self._on.client.watch(PODS, NAMESPACE, resource_version=version):
            pod = msgspec.json.decode(event.object)
            if pod["metadata"].get("name", "").startswith("j-worker-") and pod["spec"].get("nodeName"):
                times = self._gone if event.type == "DELETED" else self._bound
                times.setdefault(pod["metadata"]["uid"], now())

    @property
    def seconds(self) -> float:
        return sum((self._gone.get(uid, now()) - bound).total_seconds() for uid, bound in self._bound.items())


async def used(on: Cluster) -> dict[str, float]:
    return msgspec.convert((await on.job())["status"]["workerSeconds"], WorkerSeconds).at(now())


def scraped(metrics: Metrics) -> dict[str, float]:
    metrics.text()
    found: dict[str, float] = {}
    for family in metrics.worker_seconds.collect():
        for sample in family.samples:
            if sample.name.endswith("_total"):
                found[sample.labels["part"]] = sample.value
    return found


def redone(metrics: Metrics) -> float:
    (family,) = metrics.redone_worker_seconds.collect()
    return sum(sample.value for sample in family.samples if sample.name.endswith("_total"))


@in_virtual_time
async def test_status_and_metrics_agree_with_the_lives_of_the_pods_within_one_percent(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on):
        lives, metrics, stop = Lives(on), Metrics(), asyncio.Event()
        options = settings.Operator(metrics_address="0", health_address="0")
        operator = Operator(Clients(on.faulty_client()), KINDS, options, metrics, now)
        tasks = [asyncio.create_task(operator.run(stop)), asyncio.create_task(lives.run())]
        await asyncio.sleep(5)
        metrics.text()
        await on.create(elastic_job())
        await asyncio.sleep(600)
        assert (await elastic(on))["members"] == "0-3"
        await create_pod(on, "other", 2)
        await asyncio.sleep(600)
        await on.client.delete(PODS, NAMESPACE, "other")
        await asyncio.sleep(3000)
        assert (await elastic(on))["members"] == "0-3"
        sums, counters = await used(on), scraped(metrics)
        assert sums["surplus"] > 1000
        assert sums["leaving"] > 0
        assert sum(sums[part] for part in ON_NODES) == pytest.approx(lives.seconds, rel=0.01)
        assert redone(metrics) == pytest.approx(sums.pop("redone"), abs=1)
        assert counters == {part: pytest.approx(seconds, abs=1) for part, seconds in sums.items()}
        stop.set()
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@in_virtual_time
async def test_a_new_operator_does_not_count_again_what_the_job_used_before(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on, machine(on):
        async with on.operator():
            await on.create(elastic_job())
            await asyncio.sleep(600)
        metrics, stop = Metrics(), asyncio.Event()
        options = settings.Operator(metrics_address="0", health_address="0")
        operator = Operator(Clients(on.faulty_client()), KINDS, options, metrics, now)
        task = asyncio.create_task(operator.run(stop))
        await asyncio.sleep(5)
        metrics.text()
        await asyncio.sleep(100)
        assert scraped(metrics)["asked"] == pytest.approx(200, abs=5)
        stop.set()
        await task


@in_virtual_time
async def test_lives_of_a_few_seconds_are_counted_within_one_percent(tmp_path: pathlib.Path) -> None:
    """What is always recorded late adds up. Pods come and go at all fractions of a second, because the status has whole ones."""
    async with cluster(tmp_path) as on, machine(on, period=0.9):
        lives = Lives(on)
        async with on.operator():
            task = asyncio.create_task(lives.run())
            quick = {"scaling": "yield", "start-seconds": "1"}
            await on.create(elastic_job(1, 4, **quick))
            for _ in range(40):
                for replicas in (4, 1):
                    await asyncio.sleep(13.3)
                    change = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": replicas}}}}
                    await on.client.patch(PYTORCH, NAMESPACE, "j", msgspec.json.encode(change))
            sums = await used(on)
            assert len(lives._bound) > 100
            assert sum(sums[part] for part in ON_NODES) == pytest.approx(lives.seconds, rel=0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
