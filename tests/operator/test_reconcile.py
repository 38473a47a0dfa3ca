"""The reconcile loop of the operator: plans are executed, requeued, retried and batched."""

from __future__ import annotations

import asyncio
import itertools
import pathlib

import pytest
from tests.cluster.manifests import job, replicas
from tests.operator.operator_cluster import ApiCall, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors, settings
from traincrew.operator.create_backoff import LONGEST_RETRY
from traincrew.operator.plan_executor import FIRST_CREATES


@in_virtual_time
async def test_a_job_gets_its_pods_and_finishes_with_them(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, running.operator():
        await running.create(job("PyTorchJob", Master=1, Worker=2))
        await asyncio.sleep(1)
        assert await running.pods() == ["j-master-0", "j-worker-0", "j-worker-1"]
        for pod in await running.pods():
            await running.set_phase(pod, "Running")
        await asyncio.sleep(1)
        assert await running.conditions() == ["Created", "Running"]
        for pod in await running.pods():
            await running.set_phase(pod, "Succeeded")
        await asyncio.sleep(1)
        assert "Succeeded" in await running.conditions()


@in_virtual_time
async def test_a_deadline_is_enforced_though_nothing_changes(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, running.operator():
        await running.create(job("PyTorchJob", run={"activeDeadlineSeconds": 3600}, Master=1))
        await asyncio.sleep(1)
        await running.set_phase("j-master-0", "Running")
        await asyncio.sleep(3590)
        assert await running.conditions() == ["Created", "Running"]
        await asyncio.sleep(20)
        assert "Failed" in await running.conditions()


@in_virtual_time
async def test_a_finished_job_is_deleted_after_its_ttl(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, running.operator():
        await running.create(job("PyTorchJob", run={"ttlSecondsAfterFinished": 600}, Master=1))
        await asyncio.sleep(1)
        await running.set_phase("j-master-0", "Succeeded")
        await asyncio.sleep(590)
        assert "Succeeded" in await running.conditions()
        await asyncio.sleep(20)
        with pytest.raises(errors.NotFound):
            await running.job()


@in_virtual_time
async def test_failed_writes_are_retried_with_growing_delays(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        client = running.faulty_client()

        def fault(call: ApiCall) -> errors.ApiError | None:
            failing = (call.verb, call.plural) == ("create", "pods") and call.time < 100
            return errors.ServerError("the API server has trouble") if failing else None

        client.fault = fault
        async with running.operator(client):
            await running.create(job("PyTorchJob", Master=1))
            await asyncio.sleep(200)
            assert await running.pods() == ["j-master-0"]
        times = [call.time for call in client.calls if (call.verb, call.plural) == ("create", "pods")]
        delays = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert len(times) < 20
        assert delays[0] < 1
        assert delays[-1] > 10 * delays[0]
        assert max(delays) <= 72


@in_virtual_time
async def test_one_of_many_rejected_pods_is_tried_at_a_time_and_all_when_one_is_accepted(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        client = running.faulty_client()

        def fault(call: ApiCall) -> errors.ApiError | None:
            failing = (call.verb, call.plural) == ("create", "pods") and call.time < 1000
            return errors.Rejected(f"pod {call.name} is invalid", code=422, reason="Invalid") if failing else None

        client.fault = fault
        async with running.operator(client):
            await running.create(job("PyTorchJob", Master=1, Worker=99))
            await asyncio.sleep(5)
            first = [call for call in client.calls if (call.verb, call.plural) == ("create", "pods")]
            assert len(first) <= FIRST_CREATES + 3
            await asyncio.sleep(995)
            tried = [call for call in client.calls if (call.verb, call.plural) == ("create", "pods")]
            assert len(tried) <= FIRST_CREATES + 3 + 1000 / 60 + 6
            assert len({call.name for call in tried}) > FIRST_CREATES, "not always the same pod"
            await asyncio.sleep(LONGEST_RETRY + 5)
            assert len(await running.pods()) == 100
            assert "is invalid" not in str((await running.job())["status"].get("why"))


@in_virtual_time
async def test_changes_of_counts_are_written_together(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, running.operator() as client:
        await running.create(job("PyTorchJob", Master=1, Worker=8))
        await asyncio.sleep(1)
        await running.set_phase("j-master-0", "Running")
        await asyncio.sleep(1)
        before = len(client.status_writes())
        for number in range(8):
            await running.set_phase(f"j-worker-{number}", "Running")
            await asyncio.sleep(0.02)
        await asyncio.sleep(1)
        status = (await running.job())["status"]
        assert status["replicaStatuses"]["Worker"]["active"] == 8
        assert len(client.status_writes()) - before == 1


@in_virtual_time
async def test_every_job_gets_its_pods_before_any_gets_a_status(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        names = [f"j{number}" for number in range(6)]
        for name in names:
            await running.create(job("PyTorchJob", name, Master=1))
        options = settings.Operator(metrics_address="0", health_address="0", workers=1)
        async with running.operator(options=options) as client:
            await asyncio.sleep(5)
        pods = [index for index, call in enumerate(client.calls) if (call.verb, call.plural) == ("create", "pods")]
        first_status = client.calls.index(client.status_writes()[0])
        assert len(pods) == len(names)
        # The last job has no other job to wait for: its status may come before its pod.
        assert all(index < first_status for index in pods[:-1])


@in_virtual_time
async def test_a_job_that_fails_forever_does_not_delay_the_others(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        client = running.faulty_client()
        client.fault = lambda call: errors.ServerError("broken") if call.name.startswith("broken-") else None
        options = settings.Operator(metrics_address="0", health_address="0", workers=1)
        async with running.operator(client, options):
            await running.create(job("PyTorchJob", "broken", Master=replicas("PyTorchJob")))
            await asyncio.sleep(30)
            await running.create(job("PyTorchJob", "healthy", Master=1))
            await asyncio.sleep(1)
            assert "healthy-master-0" in await running.pods()
