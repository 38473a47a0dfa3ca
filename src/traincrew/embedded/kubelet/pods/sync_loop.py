"""The agent: watches the pods that are bound to its node and sees to each of them."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from traincrew.client import informer, store
from traincrew.client.lister import Unstructured, decode
from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.lifecycle.observed import Eviction
from traincrew.embedded.kubelet.logs import retention
from traincrew.embedded.kubelet.pods import disk_eviction, state_directory
from traincrew.embedded.kubelet.pods.pod_worker import PodWorker
from traincrew.embedded.kubelet.pods.tools import Tools
from traincrew.embedded.kubelet.runtime import runtime as sandbox
from traincrew.embedded.kubelet.server.pod_streams import ServedPod
from traincrew.model import meta
from traincrew.model.resources import PODS

log = logging.getLogger(__name__)

MIRROR = "kubernetes.io/config.mirror"
"""The annotation of pods that stand for something that others run."""
SWEEP = 600.0
"""Seconds between looks for logs that are too old."""
PATIENCE = 30.0
"""Seconds for which somebody who asks for a pod waits at most until the agent knows its pods."""
SHUTDOWN = Eviction("Terminated", "Pod was terminated in response to imminent node shutdown.", grace=0.0)


class PodWorkers:
    """A `containers.Runs`: the pods of this node, each with its worker."""

    def __init__(self) -> None:
        self.workers: dict[str, PodWorker] = {}
        self._by_name: dict[tuple[str, str], PodWorker] = {}
        self.listed = asyncio.Event()
        self.tools: Tools | None = None

    def add(self, worker: PodWorker) -> None:
        meta = worker.object["metadata"]
        self.workers[worker.uid] = worker
        self._by_name[meta["namespace"], meta["name"]] = worker

    def drop(self, worker: PodWorker) -> None:
        meta = worker.object["metadata"]
        self.workers.pop(worker.uid, None)
        if self._by_name.get((meta["namespace"], meta["name"])) is worker:
            del self._by_name[meta["namespace"], meta["name"]]

    def find(self, namespace: str, name: str) -> PodWorker | None:
        return self._by_name.get((namespace, name))

    async def known(self, namespace: str, name: str) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self.listed.wait()
                if (worker := self.find(namespace, name)) is not None:
                    await worker.recovered.wait()

    def changed(self, uid: str) -> None:
        """Something that the pod shows in its files has changed."""
        if (worker := self.workers.get(uid)) is not None:
            worker.refresh()

    def all(self) -> list[ServedPod]:
        return list(self.workers.values())

    async def connect(self, run: ServedPod, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.tools is None or not run.address:
            raise ConnectionRefusedError("the pod has no address")
        return await self.tools.forward(run.address, port)


class SyncLoop:
    def __init__(self, tools: Tools, pods: PodWorkers) -> None:
        self._tools, self._pods = dataclasses.replace(tools, learn=self._learn), pods
        self._pods.tools = self._tools
        self._store: store.Store[Unstructured] = store.Store(decode, self._changed)
        scope = informer.Scope(PODS, fields=f"spec.nodeName={tools.place.name}")
        self._informer = informer.Informer(tools.client, scope, self._store)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    def _learn(self, pod: dict[str, Any]) -> dict[str, Any]:
        """Our own writes: the watch need not tell us of them again. Returns the newest that is known: it may have been faster."""
        return self._store.learn(Unstructured(msgspec.convert(pod["metadata"], meta.Meta), pod)).body

    def _changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if new is None:
            if old is not None and (worker := self._pods.workers.get(old.metadata.uid)) is not None:
                worker.removed()
            return
        if MIRROR in (new.body["metadata"].get("annotations") or {}):
            return
        worker = self._pods.workers.get(new.metadata.uid)
        if worker is not None:
            worker.shown(new.body)
        elif not self._stopping and not _finished(new.body, self._tools):
            self._begin(new.body)

    def _begin(self, pod: dict[str, Any]) -> None:
        worker = PodWorker(pod, self._tools)
        self._pods.add(worker)
        self._tasks[worker.uid] = asyncio.create_task(self._see_to(worker))

    async def _see_to(self, worker: PodWorker) -> None:
        try:
            await worker.run()
        except Exception:
            log.exception("pod abandoned", extra={"pod": worker.object["metadata"]["name"]})
        finally:
            self._pods.drop(worker)
            self._tasks.pop(worker.uid, None)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        watch = disk_eviction.DiskEviction(self._pods.workers.values, self._tools.logs)
        lasting = (self._informer.run(), self._tools.recorder.run(), self._keep_logs(), watch.run())
        tasks = [asyncio.create_task(each) for each in lasting]
        await self._informer.synced.wait()
        self._pods.listed.set()
        await self._clear_away()
        try:
            yield
        finally:
            for task in (*tasks, *self._tasks.values()):
                task.cancel()
            await asyncio.gather(*tasks, *self._tasks.values(), return_exceptions=True)

    async def _clear_away(self) -> None:
        """What earlier daemons left of pods that the API no longer has."""
        for left in state_directory.list_all(self._tools.pods):
            if left.uid in self._pods.workers:
                continue
            with contextlib.suppress(sandbox.ShimGone):
                shim = await sandbox.ShimClient.connect(left.path)
                await shim.stop()
            identity = left.identity()
            if identity is not None and identity.address and self._tools.holder is not None:
                await self._tools.holder.detach(identity.address)
            self._tools.devices.give_back(left.uid)
            with contextlib.suppress(OSError):
                await asyncio.to_thread(volumes.remove, volumes.VolumeHost(left.path))
            await self._tools.template.remove(left.path)

    async def _keep_logs(self) -> None:
        logs = self._tools.options.logs
        rule = retention.Retention(logs.days, logs.total_bytes)
        while True:
            await asyncio.to_thread(retention.sweep, self._tools.logs, set(self._pods.workers), rule, time.time())
            await asyncio.sleep(SWEEP)

    @property
    def busy(self) -> int:
        """How many pods have anything that runs."""
        return sum(worker.busy for worker in self._pods.workers.values())

    async def shut_down(self, grace: float) -> None:
        """Ends every pod, as a kubelet does when its machine is switched off; those pods are Failed, by no fault of theirs."""
        self._stopping = True
        for worker in self._pods.workers.values():
            worker.evict(dataclasses.replace(SHUTDOWN, grace=grace))
        deadline = dt.timedelta(seconds=grace + 5).total_seconds()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline):
                await asyncio.gather(*(worker.rested() for worker in list(self._pods.workers.values())))


def _finished(pod: dict[str, Any], tools: Tools) -> bool:
    """It ended before we came, and nothing of it is left here."""
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return ended and not pod["metadata"].get("deletionTimestamp") and not state_directory.of(tools.pods, pod).path.exists()
