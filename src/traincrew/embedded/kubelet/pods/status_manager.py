"""The status manager: writes the desired status of a pod to the API server, and retries until the API server has it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_cache import PodCache
from traincrew.model.resources import PODS

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
TRANSIENT_SECONDS = 0.05
"""Seconds that a transient status is held back. A starting pod has several in a row."""
Status = dict[str, Any]


class StatusManager:
    """Writes the status of one pod."""

    def __init__(self, client: interfaces.Client, pod: ManagedPod, cache: PodCache) -> None:
        self._client, self._pod, self._cache = client, pod, cache
        self._desired: Status | None = None
        self._changed = asyncio.Event()
        self._final = asyncio.Event()
        self._settled = asyncio.Event()
        self._writing = False
        """The API server may have a status that the object here does not show yet."""

    def set_status(self, status: Status, *, transient: bool = False) -> None:
        """transient: another status follows soon, and this one need not be written then."""
        self._desired = status
        if transient:
            self._final.clear()
        else:
            self._final.set()
        if self._writing or merge_patch(self._pod.object.get("status") or {}, status):
            self._settled.clear()
            self._changed.set()
        else:
            self._settled.set()

    def abandon(self) -> None:
        """The pod is deleted: no status is written any more."""
        self._settled.set()

    @property
    def is_settled(self) -> bool:
        return self._settled.is_set()

    async def wait_until_settled(self) -> None:
        """Returns when the API server has the desired status, or no longer has the pod."""
        await self._settled.wait()

    async def run(self) -> None:
        while True:
            await self._changed.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TRANSIENT_SECONDS):
                    await self._final.wait()
            self._changed.clear()
            try:
                await self._write()
            except errors.NotFound:
                self.abandon()
            except errors.ApiError as error:
                fields = {"pod": self._pod.full_name, "error": str(error), "retry_in": RETRY_SECONDS}
                log.warning("pod status not written", extra=fields)
                await asyncio.sleep(RETRY_SECONDS)
                self._changed.set()

    async def _write(self) -> None:
        pod, desired = self._pod.object, self._desired
        patch = merge_patch(pod.get("status") or {}, desired or {})
        if not patch:
            self._settled.set()
            return
        metadata = pod["metadata"]
        # The resourceVersion protects a condition that another client has set meanwhile.
        body = {"metadata": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}, "status": patch}
        self._writing = True
        try:
            self._pod.object = self._cache.learn(await self._patch(body))
        except errors.Conflict:
            # Read, not awaited from the watch: the watch may have delivered the change before the response to our last write.
            await self._read()
            return
        finally:
            self._writing = False
        if self._desired is desired:
            self._settled.set()

    async def _patch(self, body: Object) -> Object:
        metadata, data = self._pod.object["metadata"], msgspec.json.encode(body)
        response = await self._client.patch(PODS, metadata["namespace"], metadata["name"], data, subresource="status")
        return _decode(response)

    async def _read(self) -> None:
        metadata = self._pod.object["metadata"]
        found = _decode(await self._client.get(PODS, metadata["namespace"], metadata["name"]))
        if found["metadata"]["uid"] == metadata["uid"]:
            self._pod.set_object(found)
        else:
            self.abandon()  # the pod is deleted: this is a later pod of the same name


def _decode(raw: bytes) -> Object:
    decoded: Object = msgspec.json.decode(raw)
    return decoded


def merge_patch(current: Status, desired: Status) -> Status:
    """Empty if the two are equal."""
    changed: Status = {key: value for key, value in desired.items() if current.get(key) != value}
    return changed | {key: None for key in current if key not in desired}
