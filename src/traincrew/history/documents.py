"""Turns objects of the API into records (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from traincrew.apimachinery import quantities, redaction, times
from traincrew.history.records import EventRecord, JobRecord, PodRecord, SampleRecord
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model import naming

JobName = tuple[str, str, str]
"""Kind, namespace, name."""


def milliseconds(text: Any) -> int:
    """0: there is no time."""
    try:
        found = times.parse_optional(text)
    except times.TimeError:
        return 0
    return int(found.timestamp() * 1000) if found is not None else 0


def job(kind: JobKind, raw: bytes) -> tuple[JobRecord, bytes]:
    """The record of a job, and its status alone."""
    document = redaction.redact(msgspec.json.decode(raw))
    metadata = document["metadata"]
    record = JobRecord(
        metadata["uid"],
        metadata["namespace"],
        kind.singular,
        metadata["name"],
        milliseconds(metadata.get("creationTimestamp")),
        None,
        msgspec.json.encode(document),
    )
    return record, msgspec.json.encode(document.get("status") or {})


class RecordedPod(NamedTuple):
    record: PodRecord
    """Without its job."""
    owner: str
    """UID of the controller."""
    job: JobName


def pod(raw: bytes) -> RecordedPod | None:
    """None: it belongs to no job. Launchers may belong to a batch job, so that the labels name the job, too."""
    document = redaction.redact(msgspec.json.decode(raw))
    metadata = document["metadata"]
    labels = metadata.get("labels") or {}
    name, operator = labels.get(naming.JOB_NAME, ""), labels.get(naming.OPERATOR_NAME, "")
    kind = next((each for each in KINDS if operator in _controllers(each)), None)
    if kind is None or not name:
        return None
    owner = next((each["uid"] for each in metadata.get("ownerReferences") or () if each.get("controller")), "")
    created = milliseconds(metadata.get("creationTimestamp"))
    record = PodRecord(metadata["uid"], "", metadata["name"], created, None, msgspec.json.encode(document))
    return RecordedPod(record, owner, (kind.singular, metadata["namespace"], name))


def _controllers(kind: JobKind) -> set[str]:
    return {kind.controller, *(variant.controller for variant in kind.variants.values())}


def event(raw: bytes, recorded: int) -> EventRecord | None:
    """None: it is not about a job or a pod. recorded: the time, if the event has none."""
    document: dict[str, Any] = msgspec.json.decode(raw)
    involved = document.get("involvedObject") or {}
    if involved.get("kind") not in _KIND_NAMES or not involved.get("uid"):
        return None
    metadata = document["metadata"]
    metadata.pop("managedFields", None)
    stamps = (document.get("lastTimestamp"), document.get("eventTime"), metadata.get("creationTimestamp"))
    time = next(filter(None, map(milliseconds, stamps)), recorded)
    return EventRecord(metadata["uid"], involved["uid"], time, msgspec.json.encode(document))


_KIND_NAMES = {"Pod", *(kind.kind for kind in KINDS)}


def sample(raw: bytes, pod_uid: str, recorded: int) -> SampleRecord:
    """From PodMetrics."""
    document = msgspec.json.decode(raw)
    used = [container.get("usage") or {} for container in document.get("containers") or ()]
    time = milliseconds(document.get("timestamp")) or recorded
    return SampleRecord(pod_uid, time, _cores(each.get("cpu") for each in used), _bytes(each.get("memory") for each in used))


def _cores(amounts: Iterable[Any]) -> float:
    return sum(quantities.nanos(each) for each in amounts if each is not None and quantities.is_quantity(each)) / 1e9


def _bytes(amounts: Iterable[Any]) -> int:
    return sum(quantities.value(each) for each in amounts if each is not None and quantities.is_quantity(each))
