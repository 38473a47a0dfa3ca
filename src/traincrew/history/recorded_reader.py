"""A recorded job as a reader of the Kubernetes API: what explains and shows jobs works with it as with a job that exists."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from typing import Protocol

import msgspec

from traincrew import errors
from traincrew.client import interfaces, pod_logs
from traincrew.history import last_lines
from traincrew.history.records import PodRecord, Recording
from traincrew.model import resources
from traincrew.model.resources import Resource


class StoredLogReader(Protocol):
    def lines(self, pod: PodRecord, container: str, wanted: pod_logs.PodLogOptions) -> AsyncIterator[list[pod_logs.PodLogLine]]:
        """Of all runs of the container, or of the previous one. Raise Forbidden if the user may not read logs."""
        ...


class RecordedReader:
    """Knows one job, the last pod of each name, and events. Everything else is not found."""

    def __init__(self, recording: Recording, logs: StoredLogReader, unreadable: Mapping[Resource, errors.Forbidden]) -> None:
        """unreadable: by resource, that the user may not read it."""
        self._recording, self._logs, self._unreadable = recording, logs, unreadable
        self._pods = {pod.name: pod for pod in recording.pods}

    async def get(self, resource: Resource, namespace: str | None, name: str, subresource: str = "") -> bytes:
        job = self._recording.job
        if resource.kind.lower() == job.kind and (namespace, name) == (job.namespace, job.name):
            return _in_version(job.object, resource)
        if resource == resources.PODS and namespace == job.namespace and name in self._pods:
            self._require(resource)
            return self._pods[name].object
        raise errors.NotFound(f'{resource.plural} "{name}" not found in the history', code=404, reason="NotFound")

    async def pages(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[interfaces.Page, None]:
        """Pods of the job, or events of the object whose UID the field selector names."""
        self._require(resource)
        if resource == resources.PODS:
            yield interfaces.Page([pod.object for pod in self._pods.values()], "0")
        elif resource == resources.EVENTS:
            uid = dict(each.partition("=")[::2] for each in fields.split(",")).get("involvedObject.uid")
            yield interfaces.Page([each.object for each in self._recording.events if uid in (None, each.involved)], "0")
        else:
            raise errors.NotFound(f"{resource.plural} are not in the history", code=404, reason="NotFound")

    async def watch(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = "", resource_version: str
    ) -> AsyncGenerator[interfaces.WatchEvent, None]:
        """Nothing changes any more."""
        yield interfaces.WatchEvent("BOOKMARK", b'{"metadata":{"resourceVersion":"0"}}')
        await asyncio.Event().wait()

    async def stream(
        self, resource: Resource, namespace: str, name: str, subresource: str, query: Mapping[str, str]
    ) -> AsyncGenerator[bytes, None]:
        """The log of all pods of the name, with timestamps: a replica whose pod was replaced has had several."""
        pods = [pod for pod in self._recording.pods if pod.name == name]
        if resource != resources.PODS or subresource != "log" or not pods:
            raise errors.NotFound(f'{resource.plural} "{name}" not found in the history', code=404, reason="NotFound")
        container, options = query.get("container", ""), _options(query)
        yield b""
        chosen = pods[-1:] if options.previous else pods
        async for batch in last_lines.of_log(self._lines(chosen, container, options), options.tail):
            yield _text(batch)

    async def _lines(
        self, pods: Iterable[PodRecord], container: str, options: pod_logs.PodLogOptions
    ) -> AsyncIterator[list[pod_logs.PodLogLine]]:
        for pod in pods:
            async for batch in self._logs.lines(pod, container, dataclasses.replace(options, tail=None)):
                yield batch

    def _require(self, resource: Resource) -> None:
        if (forbidden := self._unreadable.get(resource)) is not None:
            raise forbidden


def _text(lines: Iterable[pod_logs.PodLogLine]) -> bytes:
    """A line that is not whole is the last one of its run: the next run begins in a line of its own."""
    return b"".join(pod_logs.encode(line) + b"\n" for line in lines)


def _options(query: Mapping[str, str]) -> pod_logs.PodLogOptions:
    return pod_logs.PodLogOptions(
        previous=query.get("previous") == "true",
        tail=int(query["tailLines"]) if "tailLines" in query else None,
        since=query.get("sinceTime", ""),
        since_seconds=int(query["sinceSeconds"]) if "sinceSeconds" in query else None,
    )


def _in_version(object: bytes, resource: Resource) -> bytes:
    document = msgspec.json.decode(object)
    if document.get("apiVersion") == resource.api_version:
        return object
    return msgspec.json.encode({**document, "apiVersion": resource.api_version})
