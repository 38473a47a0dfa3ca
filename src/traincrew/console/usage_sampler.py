"""Samples what the replicas of jobs use, while someone looks at them, and keeps the samples beside those of the recorder."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Sequence

from traincrew import errors
from traincrew.client import clock
from traincrew.client.remote import RemoteClient
from traincrew.console.contract.metrics import UsageSeries
from traincrew.console.history_reader import HistoryReader
from traincrew.console.job_reader import JobAddress
from traincrew.console.prometheus import PrometheusReader
from traincrew.console.view import usage
from traincrew.console.view.pods import ShownPod
from traincrew.console.view.points import Counted, Points
from traincrew.console.view.prometheus_queries import PodSample, QueryFailed
from traincrew.inspection import observed_job
from traincrew.model.resources import Resource

POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
INTERVAL = 5.0
"""Seconds between two samples: the kubelet of this machine measures as often, other metrics servers every 15 seconds."""
GAP_SECONDS = 60.0
"""Without a sample for so long, the recorder may have some."""
MAX_POINTS = 1440
MAX_JOBS = 200
"""Jobs whose samples are kept."""
TIMEOUT_SECONDS = 5.0
NO_SERVER = "the cluster does not serve metrics.k8s.io. Install metrics-server to see CPU and memory."


@dataclasses.dataclass
class _Kept:
    pods: dict[str, usage.PodUsage] = dataclasses.field(default_factory=dict)
    """By name: a pod that replaces another continues its series."""
    taken: float = float("-inf")
    filled: str = ""
    """UID of the job whose recorded samples are among them."""
    unavailable: str = ""
    prometheus_error: str = ""
    watchers: int = 0
    task: asyncio.Task[None] | None = None

    def of_pod(self, name: str) -> usage.PodUsage:
        return self.pods.setdefault(name, usage.PodUsage(name, Points(MAX_POINTS)))


class UsageSampler:
    def __init__(self, client: RemoteClient, history: HistoryReader, prometheus_url: str = "") -> None:
        self._client, self._history, self._prometheus = client, history, PrometheusReader(client, prometheus_url)
        self._jobs: collections.OrderedDict[tuple[str, str, str], _Kept] = collections.OrderedDict()

    @contextlib.asynccontextmanager
    async def watching(self, job: JobAddress) -> AsyncIterator[None]:
        """Samples while the context lasts. Several watchers of a job share its samples."""
        kept = self._kept(job)
        kept.watchers += 1
        if kept.task is None:
            kept.task = asyncio.create_task(self._sample_always(job))
        try:
            yield
        finally:
            kept.watchers -= 1
            if not kept.watchers:
                task, kept.task = kept.task, None
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _sample_always(self, job: JobAddress) -> None:
        while True:
            await self.sample(job)
            await asyncio.sleep(INTERVAL)

    async def sample(self, job: JobAddress) -> None:
        """Take a sample, unless one was taken just now."""
        kept, now = self._kept(job), asyncio.get_running_loop().time()
        if now - kept.taken < INTERVAL / 2:
            return
        if now - kept.taken > GAP_SECONDS:
            kept.filled = ""
        kept.taken = now
        measured, samples = await asyncio.gather(self._measured(job, kept), self._samples(job, kept))
        for each in measured:
            kept.of_pod(each.metadata.name).add(each, samples.pop(each.metadata.name, usage.UNKNOWN))
        time = int(clock.now().timestamp() * 1000)
        for pod, sample in samples.items():
            if kept.unavailable:  # else it is measured soon, or has ended
                kept.of_pod(pod).add_at(time, usage.with_sample(usage.Used(None, None), sample))
        if samples and kept.unavailable == NO_SERVER:
            kept.unavailable = ""

    async def fill(self, job: JobAddress, uid: str) -> None:
        """Add what the recorder has measured while nobody looked, as far as the user may read it."""
        kept = self._kept(job)
        if kept.filled == uid:
            return
        try:
            recorded = await self._history.samples(uid)
        except (errors.StoreError, errors.TemporaryError):
            return  # the next reading tries again
        except (errors.UserError, errors.ApiError):
            recorded = {}  # there is no recorder, or the user may not read it
        for name, samples in recorded.items():
            kept.of_pod(name).fill((each.time, usage.Used(each.cpu, each.memory)) for each in samples)
        kept.filled = uid

    async def _measured(self, job: JobAddress, kept: _Kept) -> list[usage.Measured]:
        kept.unavailable = ""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._read(job)
        except (errors.NotFound, errors.ServerError):
            kept.unavailable = NO_SERVER
        except (errors.ApiError, TimeoutError) as error:
            kept.unavailable = str(error) or "the metrics server does not respond"
        return []

    async def _samples(self, job: JobAddress, kept: _Kept) -> dict[str, PodSample]:
        kept.prometheus_error = ""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._prometheus.read(job)
        except (QueryFailed, errors.ApiError, TimeoutError) as error:
            kept.prometheus_error = f"Prometheus: {error or 'it does not respond'}"
        return {}

    async def _read(self, job: JobAddress) -> list[usage.Measured]:
        labels = observed_job.selector(job.name)
        pages = self._client.pages(POD_METRICS, job.namespace, labels=labels)
        listed = [usage.decode(item) async for page in pages for item in page.items]
        return [each for each in listed if observed_job.belongs(each, job.kind, job.name)]

    def unavailable(self, job: JobAddress) -> str:
        return self._kept(job).unavailable

    def errors(self, job: JobAddress) -> list[str]:
        return list(filter(None, [self._kept(job).prometheus_error]))

    def series(self, job: JobAddress, pods: Sequence[ShownPod]) -> list[Counted[UsageSeries]]:
        """Also those of pods that are deleted."""
        existing = {pod.name: pod for pod in pods}
        return [usage.series(job.name, each, existing.get(name)) for name, each in sorted(self._kept(job).pods.items())]

    def _kept(self, job: JobAddress) -> _Kept:
        kept = self._jobs.setdefault(job.key, _Kept())
        self._jobs.move_to_end(job.key)
        unwatched = [key for key, each in self._jobs.items() if not each.watchers and key != job.key]
        for key in unwatched[: max(len(self._jobs) - MAX_JOBS, 0)]:
            del self._jobs[key]
        return kept
