"""The sync loop: starts a worker for every pod that is bound to this node, and cleans up after pods that are gone."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import pathlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

from traincrew.client.lister import Unstructured
from traincrew.embedded.kubelet.lifecycle.observed import Eviction
from traincrew.embedded.kubelet.pods import state_directory
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_cache import PodCache
from traincrew.embedded.kubelet.pods.pod_network import Connection, PodNetwork
from traincrew.embedded.kubelet.pods.pod_worker import PodWorker
from traincrew.embedded.kubelet.pods.sandboxes import Sandboxes
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.server.pod_streams import ServedPod
from traincrew.serving import background_tasks

log = logging.getLogger(__name__)

MIRROR = "kubernetes.io/config.mirror"
"""The annotation of mirror pods, which this node does not run."""
POD_LOOKUP_SECONDS = 30.0
"""Seconds that a request for a pod waits at most until the pods of this node are known."""
STOP_MARGIN_SECONDS = 5.0
RETRY_SECONDS = 5.0
"""Seconds before a failed worker is replaced."""
SHUTDOWN = Eviction("Terminated", "Pod was terminated in response to imminent node shutdown.", grace=0.0)


class PodWorkers:
    """The pod workers of this node. A `pod_streams.ServedPods`."""

    def __init__(self, network: PodNetwork) -> None:
        self._network = network
        self._by_uid: dict[str, PodWorker] = {}
        self._by_name: dict[tuple[str, str], PodWorker] = {}
        self.listed = asyncio.Event()
        """Set when every pod of the first list has its worker."""

    def add(self, worker: PodWorker) -> None:
        self._by_uid[worker.pod.uid] = worker
        self._by_name[_key(worker.pod)] = worker

    def remove(self, worker: PodWorker) -> None:
        self._by_uid.pop(worker.pod.uid, None)
        if self._by_name.get(_key(worker.pod)) is worker:
            del self._by_name[_key(worker.pod)]

    def get(self, uid: str) -> PodWorker | None:
        return self._by_uid.get(uid)

    def workers(self) -> list[PodWorker]:
        return [*self._by_uid.values()]

    def uids(self) -> set[str]:
        return set(self._by_uid)

    def find(self, namespace: str, name: str) -> ManagedPod | None:
        worker = self._by_name.get((namespace, name))
        return worker.pod if worker is not None else None

    async def wait_until_known(self, namespace: str, name: str) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POD_LOOKUP_SECONDS):
                await self.listed.wait()
                if (worker := self._by_name.get((namespace, name))) is not None:
                    await worker.adopted.wait()

    def refresh_volumes(self, uid: str) -> None:
        """An object that the pod refers to has changed."""
        if (worker := self._by_uid.get(uid)) is not None:
            worker.refresh_volumes()

    def all(self) -> list[ServedPod]:
        return [worker.pod for worker in self._by_uid.values()]

    async def connect(self, served: ServedPod, port: int) -> Connection:
        if not served.address:
            raise ConnectionRefusedError("the pod has no address")
        return await self._network.forward(served.address, port)

    async def dial(self, served: ServedPod, port: int) -> Connection:
        if not served.address:
            raise ConnectionRefusedError("the pod has no address")
        return await self._network.connect(served.address, port)


def _key(pod: ManagedPod) -> tuple[str, str]:
    metadata = pod.object["metadata"]
    return metadata["namespace"], metadata["name"]


async def _succeeds(work: Awaitable[None], directory: PodStateDirectory) -> bool:
    """A clean-up that fails does not stop the start. The next start tries again."""
    try:
        await work
    except Exception:
        log.exception("clean-up of a pod failed", extra={"directory": str(directory.path)})
        return False
    return True


class SyncLoop:
    def __init__(
        self,
        cache: PodCache,
        workers: PodWorkers,
        new_worker: Callable[[dict[str, Any]], PodWorker],
        sandboxes: Sandboxes,
        pods: pathlib.Path,
    ) -> None:
        """pods: the state directories."""
        self._cache, self._workers, self._new_worker, self._sandboxes = cache, workers, new_worker, sandboxes
        self._pods = pods
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping = False
        cache.add_event_handler(self._pod_changed)

    def _pod_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if new is None:
            if old is not None and (worker := self._workers.get(old.metadata.uid)) is not None:
                worker.object_deleted()
            return
        if MIRROR in (new.body["metadata"].get("annotations") or {}):
            return
        worker = self._workers.get(new.metadata.uid)
        if worker is not None:
            worker.pod.set_object(new.body)
        elif not self._stopping and not self._is_finished(new.body):
            self._start_worker(new.body)

    def _is_finished(self, pod: dict[str, Any]) -> bool:
        """The pod terminated before this daemon started, and nothing of it is left on this node."""
        terminated = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        deleted = bool(pod["metadata"].get("deletionTimestamp"))
        return terminated and not deleted and not state_directory.of(self._pods, pod).path.exists()

    def _start_worker(self, pod: dict[str, Any]) -> PodWorker:
        worker = self._new_worker(pod)
        self._workers.add(worker)
        self._tasks[worker.pod.uid] = asyncio.create_task(self._run_worker(worker))
        return worker

    async def _run_worker(self, worker: PodWorker) -> None:
        failed = False
        try:
            await worker.run()
        except Exception:
            log.exception("pod worker failed", extra={"pod": worker.pod.full_name, "retry_in": RETRY_SECONDS})
            failed = True
            # Meanwhile the failed worker is still the worker of its pod, and records the changes of the object.
            await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._workers.remove(worker)
            self._tasks.pop(worker.pod.uid, None)
        if failed and not self._stopping:
            self._replace(worker)

    def _replace(self, failed: PodWorker) -> None:
        """Starts another worker, which adopts the sandbox."""
        worker = self._start_worker(failed.pod.object)
        if failed.pod.observed.object_deleted:
            worker.object_deleted()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        background = [background_tasks.start(self._cache.run())]
        try:
            await self._cache.wait_for_sync()
            self._workers.listed.set()
            stopped = await self._stop_orphans()
            background.append(background_tasks.start(self._remove_orphans(stopped)))
            yield
        finally:
            await background_tasks.cancel(*background, *self._tasks.values())

    async def _stop_orphans(self) -> list[PodStateDirectory]:
        """Stops the sandboxes of pods that the API server no longer has. Returns those that are stopped."""
        orphans = [each for each in state_directory.list_all(self._pods) if self._workers.get(each.uid) is None]
        stopped = await asyncio.gather(*(_succeeds(self._sandboxes.stop(each, None), each) for each in orphans))
        return [each for each, succeeded in zip(orphans, stopped, strict=True) if succeeded]

    async def _remove_orphans(self, stopped: Iterable[PodStateDirectory]) -> None:
        """In the background: the removal of a tree with millions of files takes minutes."""
        for each in stopped:
            await _succeeds(self._sandboxes.remove_orphan(each), each)
        await self._sandboxes.retry_removals()

    @property
    def busy(self) -> int:
        """The number of pods with a sandbox or an unwritten status."""
        return sum(worker.is_busy for worker in self._workers.workers())

    async def shut_down(self, grace: float) -> None:
        """Terminates every pod, as the kubelet does at node shutdown. The pods fail with the reason Terminated."""
        self._stopping = True
        for worker in self._workers.workers():
            worker.evict(dataclasses.replace(SHUTDOWN, grace=grace))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace + STOP_MARGIN_SECONDS):
                await asyncio.gather(*(worker.wait_until_idle() for worker in self._workers.workers()))
        # Also pods of which this daemon knows nothing, or whose sandbox cannot be stopped in the usual way.
        left = state_directory.list_all(self._pods)
        await asyncio.gather(*(_succeeds(self._sandboxes.kill(each), each) for each in left))
