"""The pod control of the Job controller: creates and deletes pods, and removes their finalizer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.client.lister import Lister
from traincrew.embedded.controllers.event_recorder import NORMAL, WARNING, ControllerEventRecorder
from traincrew.embedded.controllers.pods import TRACKING, Pod
from traincrew.model.resources import BATCH_JOBS, PODS

TERMINATING = "NamespaceTerminating"


class PodControl:
    def __init__(self, client: interfaces.Client, pods: Lister[Pod], recorder: ControllerEventRecorder) -> None:
        self._client, self._pods, self._recorder = client, pods, recorder

    async def create(self, job: Object, bodies: Iterable[Object]) -> None:
        """In batches of doubling size (slow start): if the first create is rejected, hundreds of others are not tried."""
        waiting, size = list(bodies), 1
        while waiting:
            batch, waiting = waiting[:size], waiting[size:]
            await _all(self._create(job, body) for body in batch)
            size *= 2

    async def _create(self, job: Object, body: Object) -> None:
        try:
            response = await self._client.create(PODS, job["metadata"]["namespace"], msgspec.json.encode(body))
        except errors.ApiError as error:
            if not any(cause.reason == TERMINATING for cause in error.causes):
                self._recorder.event(BATCH_JOBS, job, WARNING, "FailedCreate", f"Error creating: {error.message}")
            raise
        created = self._pods.apply_response(response)
        self._recorder.event(BATCH_JOBS, job, NORMAL, "SuccessfulCreate", f"Created pod: {created.metadata.name}")

    async def delete(self, job: Object, pods: Iterable[Pod], uncounted: bool) -> None:
        await _all(self._delete(job, pod, uncounted) for pod in pods)

    async def _delete(self, job: Object, pod: Pod, uncounted: bool) -> None:
        meta = pod.metadata
        try:
            if uncounted:
                await self.remove_finalizers((pod,))
            response = await self._client.delete(PODS, meta.namespace, meta.name, uid=meta.uid)
        except (errors.NotFound, errors.Conflict):
            self._pods.remove(pod)  # it is deleted, and another pod may have its name
            return
        except errors.ApiError as error:
            self._recorder.event(BATCH_JOBS, job, WARNING, "FailedDelete", f"Error deleting: {error.message}")
            raise
        self._pods.apply_delete_response(pod, response)
        self._recorder.event(BATCH_JOBS, job, NORMAL, "SuccessfulDelete", f"Deleted pod: {meta.name}")

    async def remove_finalizers(self, pods: Iterable[Pod]) -> None:
        """Removes the tracking finalizer."""
        await _all(self._remove_finalizer(pod) for pod in pods if pod.tracked)

    async def _remove_finalizer(self, pod: Pod) -> None:
        meta = pod.metadata
        try:
            response = await self._client.patch(PODS, meta.namespace, meta.name, _finalizer_patch(pod), type="strategic")
        except (errors.NotFound, errors.Conflict):
            self._pods.remove(pod)
            return
        if meta.deletion_timestamp is not None and not meta.deletion_grace_period_seconds and len(meta.finalizers) == 1:
            self._pods.remove(pod)  # only the finalizer kept the pod
        else:
            self._pods.apply_response(response)


def _finalizer_patch(pod: Pod) -> bytes:
    """With the UID: not for another pod of the same name."""
    meta = {"uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}
    return msgspec.json.encode({"metadata": meta})


async def _all(calls: Iterable[object]) -> None:
    """Waits for all; then raises the first error."""
    results = await asyncio.gather(*calls, return_exceptions=True)  # type: ignore[call-overload]
    for result in results:
        if isinstance(result, BaseException):
            raise result
