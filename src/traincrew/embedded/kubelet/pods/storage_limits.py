"""Limits the disk usage of pods: evicts pods that exceed their storage limits, removes expired logs."""

from __future__ import annotations

import asyncio
import logging
import pathlib
import time
from typing import Any

from traincrew.embedded.kubelet.lifecycle.observed import Eviction, SandboxReady
from traincrew.embedded.kubelet.logs import log_directory, retention
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_worker import PodWorker
from traincrew.embedded.kubelet.pods.sync_loop import PodWorkers
from traincrew.embedded.kubelet.volumes import ephemeral_storage
from traincrew.embedded.kubelet.volumes.pod_volumes import VolumeHost

log = logging.getLogger(__name__)

PERIOD_SECONDS = 5.0
"""Seconds between two measurements."""
PAUSE_FACTOR = 20
"""The pause is at least so many times the CPU time of a measurement, so that pods with many files do not occupy a core."""
GRACE_SECONDS = 1.0
SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""Pods with this priority are not evicted."""
LOG_SWEEP_SECONDS = 600.0
"""Seconds between two removals of expired logs."""


async def remove_expired_logs(workers: PodWorkers, logs: pathlib.Path, rule: retention.LogRetention) -> None:
    while True:
        await asyncio.to_thread(retention.sweep, logs, workers.uids(), rule, time.time())
        await asyncio.sleep(LOG_SWEEP_SECONDS)


class StorageEviction:
    """Evicts pods that exceed their limits of ephemeral storage."""

    def __init__(self, workers: PodWorkers, logs: pathlib.Path) -> None:
        self._workers, self._logs = workers, logs

    async def run(self) -> None:
        while True:
            cpu_seconds = 0.0
            for worker in self._workers.workers():
                try:
                    cpu_seconds += await self._check(worker)
                except Exception:
                    # One pod whose files cannot be measured must not stop the eviction of others.
                    log.exception("pod storage not measured", extra={"pod": worker.pod.full_name})
            await asyncio.sleep(max(PERIOD_SECONDS, PAUSE_FACTOR * cpu_seconds))

    async def _check(self, worker: PodWorker) -> float:
        """Returns the CPU seconds of the measurement."""
        pod, metadata = worker.pod, worker.pod.object["metadata"]
        if not _is_limited(pod):
            return 0.0
        logs = log_directory.pod_directory(self._logs, metadata["namespace"], metadata["name"], metadata["uid"])
        message, cpu_seconds = await asyncio.to_thread(_measure, pod.object, VolumeHost(pod.directory.path), logs)
        if message and _is_limited(pod):
            # The pod itself is the cause, so it gets no DisruptionTarget condition.
            worker.evict(Eviction("Evicted", message, target="", grace=GRACE_SECONDS))
        return cpu_seconds


def _measure(pod: dict[str, Any], host: VolumeHost, logs: pathlib.Path) -> tuple[str, float]:
    started = time.thread_time()
    return ephemeral_storage.exceeded_limit(pod, host, logs), time.thread_time() - started


def _is_limited(pod: ManagedPod) -> bool:
    running = isinstance(pod.observed.sandbox, SandboxReady) and pod.observed.eviction is None
    critical = (pod.object["spec"].get("priority") or 0) >= SYSTEM_CRITICAL_PRIORITY
    return running and not critical and ephemeral_storage.has_limits(pod.object)
