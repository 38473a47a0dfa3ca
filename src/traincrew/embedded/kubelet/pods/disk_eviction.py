"""Sends away pods that take more of the disk than they may."""

from __future__ import annotations

import asyncio
import logging
import pathlib
import time
from collections.abc import Callable, Iterable
from typing import Any

from traincrew.embedded.kubelet.lifecycle.observed import Eviction, SandboxReady
from traincrew.embedded.kubelet.logs import log_directory
from traincrew.embedded.kubelet.pods.pod_worker import PodWorker
from traincrew.embedded.kubelet.volumes import ephemeral_storage
from traincrew.embedded.kubelet.volumes.pod_volumes import VolumeHost

log = logging.getLogger(__name__)

PERIOD = 5.0
"""Seconds between two looks."""
REST = 20
"""Times as long as a core was at a look, until the next: pods with very many files take no more than a share of it."""
GRACE = 1.0
_CRITICAL = 2_000_000_000
"""The priority from which on a pod is the system's, and is not sent away."""


class DiskEviction:
    def __init__(self, workers: Callable[[], Iterable[PodWorker]], logs: pathlib.Path) -> None:
        self._workers, self._logs = workers, logs

    async def run(self) -> None:
        while True:
            spent = 0.0
            for worker in list(self._workers()):
                try:
                    spent += await self._look(worker)
                except Exception:
                    # One pod whose files cannot be counted must not keep the others'.
                    log.exception("storage not counted", extra={"pod": worker.object["metadata"]["name"]})
            await asyncio.sleep(max(PERIOD, REST * spent))

    async def _look(self, worker: PodWorker) -> float:
        """Returns the seconds of a core that it took."""
        pod, meta = worker.object, worker.object["metadata"]
        if not _counts(worker):
            return 0.0
        logs = log_directory.pod_directory(self._logs, meta["namespace"], meta["name"], meta["uid"])
        message, spent = await asyncio.to_thread(_counted, pod, VolumeHost(worker.ledger.path), logs)
        if message and _counts(worker):
            # It is the pod's own doing, so no disruption is told of.
            worker.evict(Eviction("Evicted", message, target="", grace=GRACE))
        return spent


def _counted(pod: dict[str, Any], place: VolumeHost, logs: pathlib.Path) -> tuple[str, float]:
    began = time.thread_time()
    return ephemeral_storage.exceeded_limit(pod, place, logs), time.thread_time() - began


def _counts(worker: PodWorker) -> bool:
    runs = isinstance(worker.facts.sandbox, SandboxReady) and worker.facts.eviction is None
    critical = (worker.object["spec"].get("priority") or 0) >= _CRITICAL
    return runs and not critical and ephemeral_storage.has_limits(worker.object)
