"""Recordings for tests of the file: made by the encoder, of objects as the API server stores them."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

from traincrew.history.recording_file import RecordingEncoder
from traincrew.history.recording_lines import (
    FORMAT,
    EventLine,
    JobLine,
    Line,
    LogLine,
    Manifest,
    MissingLine,
    PodLine,
    SamplesLine,
    StatusLine,
)

TIME = 1_794_987_000_000
POD = "2329f998-a527-44d1-b40b-c5fa712ab697"
JOB = "447775da-275b-4de1-bde3-14b1f329ccae"


def metadata(name: str, uid: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "namespace": "default", "uid": uid, "creationTimestamp": "2026-11-18T07:30:00Z", **more}


def job(**more: Any) -> JobLine:
    container = {"name": "jax", "image": "any", "command": ["true"]}
    worker = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    document = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "metadata": metadata("mnist", JOB),
        "spec": {"jaxReplicaSpecs": {"Worker": worker}},
        "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "JAXJobFailed", "message": "failed"}]},
    }
    return JobLine(
        **{"uid": JOB, "namespace": "default", "kind": "jaxjob", "name": "mnist", "created": TIME, "object": document, **more}
    )


def pod(**more: Any) -> PodLine:
    labels = {"training.kubeflow.org/job-name": "mnist", "training.kubeflow.org/operator-name": "jaxjob-controller"}
    state = {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2026-11-18T07:31:00Z"}}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata("mnist-worker-0", POD, labels=labels),
        "spec": {"containers": [{"name": "jax", "image": "any"}]},
        "status": {"phase": "Failed", "containerStatuses": [{"name": "jax", "restartCount": 0, "state": state}]},
    }
    return PodLine(**{"uid": POD, "name": "mnist-worker-0", "created": TIME, "object": document, **more})


def log(number: int = 0, text: str = "2026-11-18T07:30:30.000000001Z printed\n", **more: Any) -> LogLine:
    return LogLine(**{"pod": POD, "container": "jax", "run": 0, "number": number, "time": TIME, "text": text, **more})


MANIFEST = Manifest(format=FORMAT, version="0.1.0", exported=TIME)


def lines(*logs: LogLine) -> list[Line]:
    event = EventLine(
        uid="e1",
        involved=POD,
        time=TIME,
        object={"metadata": metadata("e1", "e1"), "involvedObject": {"kind": "Pod", "uid": POD}, "reason": "Started"},
    )
    samples = SamplesLine(pod=POD, times=[TIME, TIME + 1], cpu=[0.5, 1.5], memory=[1, 2])
    status = StatusLine(time=TIME, status={})
    return [MANIFEST, job(), MissingLine(message="Nothing."), status, pod(), event, samples, *(logs or (log(),))]


def encoded(found: Iterable[Line]) -> bytes:
    encoder = RecordingEncoder()
    return b"".join([encoder.line(each) for each in found] + [encoder.end()])


def raw(*documents: Any) -> bytes:
    """A file of any lines."""
    return gzip.compress(b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in documents))


async def chunks(data: bytes, size: int = 1 << 16) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
