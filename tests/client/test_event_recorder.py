"""The event recorder on an API server with faults, in virtual time: backlog, retries, delay, counts."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import pathlib
from collections.abc import AsyncIterator

import pytest
from tests.operator.operator_cluster import NAMESPACE, Cluster, FaultyClient, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors
from traincrew.client.event_correlation import Correlator
from traincrew.client.event_recorder import Delivery, EventRecorder, UniqueNames
from traincrew.client.events import NORMAL, EventSource, ObjectReference, RecordedEvent
from traincrew.model.resources import EVENTS

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
UNAVAILABLE = errors.ServerError("the server is not ready")


def event(message: str) -> RecordedEvent:
    involved = ObjectReference("Pod", "v1", NAMESPACE, "p", "u")
    return RecordedEvent(involved, EventSource("test"), NORMAL, "Tested", message, NOON)


@contextlib.asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[None]:
    task = asyncio.create_task(recorder.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def messages(on: Cluster) -> list[str]:
    return [message for _, message in await on.events()]


def times(client: FaultyClient) -> list[float]:
    return [call.time for call in client.calls]


@in_virtual_time
async def test_events_that_exceed_the_backlog_are_dropped_and_the_others_are_written(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster(tmp_path) as on:
        recorder = EventRecorder(on.client, UniqueNames(), delivery=Delivery(backlog=2))
        for number in range(4):
            recorder.record(event(f"event {number}"))
        async with running(recorder):
            await recorder.drain(10)
            recorder.record(event("after the backlog"))
            await recorder.drain(10)
        assert await messages(on) == ["after the backlog", "event 0", "event 1"]
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == ["event dropped"] * 2


@in_virtual_time
async def test_an_event_is_retried_while_the_api_server_fails(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        client, start = on.faulty_client(), asyncio.get_running_loop().time()
        client.fault = lambda call: UNAVAILABLE if call.time < start + 20 else None
        recorder = EventRecorder(client, UniqueNames(), delivery=Delivery(retry_seconds=60))
        async with running(recorder):
            recorder.record(event("late"))
            await recorder.drain(60)
        assert await messages(on) == ["late"]
        assert len(client.calls) > 2
        assert len({call.name for call in client.calls}) == 1, "every attempt writes the same object"


@in_virtual_time
async def test_an_event_is_given_up_after_its_time_and_the_next_one_is_written(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster(tmp_path) as on:
        client = on.faulty_client()
        client.fault = lambda call: UNAVAILABLE
        recorder = EventRecorder(client, UniqueNames(), delivery=Delivery(retry_seconds=5))
        async with running(recorder):
            recorder.record(event("lost"))
            await recorder.drain(60)
            assert times(client)[-1] - times(client)[0] <= 5
            client.fault = lambda call: None
            recorder.record(event("written"))
            await recorder.drain(60)
        assert await messages(on) == ["written"]
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == ["event not written"]


@in_virtual_time
async def test_without_retries_one_attempt_is_made(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        client = on.faulty_client()
        client.fault = lambda call: UNAVAILABLE
        recorder = EventRecorder(client, UniqueNames())
        async with running(recorder):
            recorder.record(event("lost"))
            await recorder.drain(60)
        assert len(client.calls) == 1


@in_virtual_time
async def test_events_wait_for_urgent_requests_but_not_longer_than_their_delay(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        client, clock = on.faulty_client(), asyncio.get_running_loop().time
        start, busy = clock(), {"until": clock() + 3.0}
        recorder = EventRecorder(
            client, UniqueNames(), delivery=Delivery(defer_seconds=10), defer_while=lambda: clock() < busy["until"]
        )
        async with running(recorder):
            recorder.record(event("when the requests are done"))
            await recorder.drain(60)
            assert times(client)[0] - start == pytest.approx(3.0, abs=0.2)
            busy["until"], start = clock() + 100, clock()
            recorder.record(event("although the requests are not done"))
            await recorder.drain(60)
            assert times(client)[1] - start == pytest.approx(10.0, abs=0.2)


@in_virtual_time
async def test_an_event_that_exists_already_is_no_error(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    async with cluster(tmp_path) as on:
        recorder = EventRecorder(on.client, lambda event: "same-name")
        async with running(recorder):
            recorder.record(event("first"))
            recorder.record(event("first"))
            await recorder.drain(10)
        assert await messages(on) == ["first"]
    assert not caplog.records


@in_virtual_time
async def test_repetitions_are_counted_on_one_object_and_on_a_new_one_if_it_has_expired(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        recorder = EventRecorder(on.client, UniqueNames(), Correlator())
        async with running(recorder):
            for _ in range(3):
                recorder.record(event("again"))
            await recorder.drain(10)
            (counted,) = await on._list(EVENTS)
            assert counted["count"] == 3
            await on.client.delete(EVENTS, NAMESPACE, counted["metadata"]["name"])
            recorder.record(event("again"))
            await recorder.drain(10)
        (created,) = await on._list(EVENTS)
    assert (created["count"], created["metadata"]["name"] == counted["metadata"]["name"]) == (4, False)


@in_virtual_time
async def test_the_end_does_not_wait_longer_than_allowed_for_events(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster(tmp_path) as on:
        client, clock = on.faulty_client(), asyncio.get_running_loop().time
        client.fault = lambda call: UNAVAILABLE
        recorder = EventRecorder(client, UniqueNames(), delivery=Delivery(retry_seconds=600))
        async with running(recorder):
            for number in range(3):
                recorder.record(event(f"event {number}"))
            start = clock()
            await recorder.drain(30)
            assert clock() - start == pytest.approx(30, abs=0.1)
    assert ("events not written", 2) in [(record.message, getattr(record, "count", None)) for record in caplog.records]


def test_unique_names_differ_even_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 255)
    naming = UniqueNames()
    assert [naming(event("a")) for _ in range(3)] == ["p.ff", "p.100", "p.101"]
