"""Decoding of objects that cannot be read completely."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from traincrew.kinds.jax import KIND
from traincrew.kinds.job_decoding import decode_stored
from traincrew.model import objects
from traincrew.model.lenient_decoding import LenientDecoder

YEAR_ZERO = "0000-01-01T00:00:00Z"


def stored(**parts: Any) -> bytes:
    return msgspec.json.encode({"metadata": {"name": "j"}, "spec": {"jaxReplicaSpecs": {}}, **parts})


def test_the_readable_rest_of_a_status_is_kept() -> None:
    conditions = [
        {"type": "Created", "status": "True", "lastUpdateTime": YEAR_ZERO},
        {"type": 7, "status": "True"},
        {"type": "Running", "status": "True", "reason": "r"},
    ]
    counts = {"Worker": {"active": "many", "failed": 1}, "Master": 3}
    status = {"completionTime": YEAR_ZERO, "endedBy": "Success", "conditions": conditions, "replicaStatuses": counts}
    job, unreadable = decode_stored(KIND, stored(status=status))
    assert [part.path for part in unreadable] == [
        "status.completionTime",
        "status.conditions[0].lastUpdateTime",
        "status.conditions[1]",
        "status.replicaStatuses.Worker.active",
        "status.replicaStatuses.Master",
    ]
    assert unreadable[0].reason == "The year is out of range"
    assert (job.status.ended_by, [each.type for each in job.status.conditions]) == ("Success", ["Created", "Running"])
    assert job.status.replica_statuses["Worker"].failed == 1


def test_an_unreadable_part_of_a_spec_is_named_by_its_keys() -> None:
    spec = {"jaxReplicaSpecs": {"Worker": {"replicas": 1.5, "template": {"spec": {"any": 1}}}}}
    job, unreadable = decode_stored(KIND, stored(spec=spec))
    assert [part.path for part in unreadable] == ["spec.jaxReplicaSpecs.Worker.replicas"]
    assert bytes(job.spec.replica_specs["Worker"].template) == b'{"spec":{"any":1}}'


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(stored(metadata={"name": "j", "ownerReferences": 1}), id="metadata"),
        pytest.param(b'{"metadata":{"name":"j"}}', id="no spec"),
        pytest.param(b"[]", id="not an object"),
    ],
)
def test_what_is_no_job_at_all_is_an_error(raw: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_stored(KIND, raw)


def test_an_object_of_any_depth_is_read() -> None:
    deep = b"[" * 9_900 + b"]" * 9_900
    raw = b'{"metadata":{"name":"p"},"spec":{"unknown":' + deep + b'},"status":{"phase":"Failed"}}'
    pod, unreadable = LenientDecoder[objects.Pod](objects.Pod).decode(raw)
    assert (pod.name, pod.status.phase, unreadable) == ("p", "Failed", ())


@pytest.mark.parametrize("time", [YEAR_ZERO, "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z", "2026-01-01T00:00:00+24:00"])
def test_times_that_python_cannot_compute_with_are_left_out(time: str) -> None:
    job, unreadable = decode_stored(KIND, stored(status={"startTime": time, "why": {"message": f'see "{time}', "since": time}}))
    assert [part.path for part in unreadable] == ["status.startTime", "status.why.since"]
    assert job.status.start_time is None
    assert job.status.why is not None
    assert time in job.status.why.message


def test_a_far_time_in_a_text_is_no_reason_to_leave_anything_out() -> None:
    job, unreadable = decode_stored(KIND, stored(status={"endedBy": YEAR_ZERO, "startTime": "2026-01-01T00:00:00Z"}))
    assert unreadable == ()
    assert (job.status.ended_by, job.status.start_time is None) == (YEAR_ZERO, False)
