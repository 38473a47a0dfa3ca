"""What the Job controller does to pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from traincrew import errors
from traincrew.apimachinery.resource_info import Object
from traincrew.client import port
from traincrew.client.lister import Lister
from traincrew.embedded.controllers.event_recorder import NORMAL, WARNING, ControllerEventRecorder
from traincrew.embedded.controllers.pods import TRACKING, Pod
from traincrew.model.resources import BATCH_JOBS, PODS

TERMINATING = "NamespaceTerminating"


class Hands:
    def __init__(self, client: port.Client, pods: Lister[Pod], recorder: ControllerEventRecorder) -> None:
        self._client, self._pods, self._recorder = client, pods, recorder

    async def make(self, job: Object, bodies: Iterable[Object]) -> None:
        """In batches that double: where the first is refused, hundreds more are not tried."""
        waiting, size = list(bodies), 1
        while waiting:
            batch, waiting = waiting[:size], waiting[size:]
            await _all(self._make(job, body) for body in batch)
            size *= 2

    async def _make(self, job: Object, body: Object) -> None:
        try:
            answer = await self._client.create(PODS, job["metadata"]["namespace"], msgspec.json.encode(body))
        except errors.ApiError as error:
            if not any(cause.reason == TERMINATING for cause in error.causes):
                self._recorder.event(BATCH_JOBS, job, WARNING, "FailedCreate", f"Error creating: {error.message}")
            raise
        made = self._pods.apply_response(answer)
        self._recorder.event(BATCH_JOBS, job, NORMAL, "SuccessfulCreate", f"Created pod: {made.metadata.name}")

    async def delete(self, job: Object, pods: Iterable[Pod], uncounted: bool) -> None:
        await _all(self._delete(job, pod, uncounted) for pod in pods)

    async def _delete(self, job: Object, pod: Pod, uncounted: bool) -> None:
        meta = pod.metadata
        try:
            if uncounted:
                await self.release((pod,))
            answer = await self._client.delete(PODS, meta.namespace, meta.name, uid=meta.uid)
        except (errors.NotFound, errors.Conflict):
            self._pods.remove(pod)  # it is gone, and perhaps another has its name
            return
        except errors.ApiError as error:
            self._recorder.event(BATCH_JOBS, job, WARNING, "FailedDelete", f"Error deleting: {error.message}")
            raise
        self._pods.apply_delete_response(pod, answer)
        self._recorder.event(BATCH_JOBS, job, NORMAL, "SuccessfulDelete", f"Deleted pod: {meta.name}")

    async def release(self, pods: Iterable[Pod]) -> None:
        """Their tracking ends."""
        await _all(self._release(pod) for pod in pods if pod.tracked)

    async def _release(self, pod: Pod) -> None:
        meta = pod.metadata
        try:
            answer = await self._client.patch(PODS, meta.namespace, meta.name, _untracking(pod), type="strategic")
        except (errors.NotFound, errors.Conflict):
            self._pods.remove(pod)
            return
        if meta.deletion_timestamp is not None and not meta.deletion_grace_period_seconds and len(meta.finalizers) == 1:
            self._pods.remove(pod)  # that was all that held it
        else:
            self._pods.apply_response(answer)


def _untracking(pod: Pod) -> bytes:
    """Of this very pod, not of another that has its name."""
    meta = {"uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}
    return msgspec.json.encode({"metadata": meta})


async def _all(calls: Iterable[object]) -> None:
    """All are tried; the first error is raised at the end."""
    answers = await asyncio.gather(*calls, return_exceptions=True)  # type: ignore[call-overload]
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
