"""What running jobs do, while someone looks: whether they seem to hang, and how far their output says that they have come."""

from __future__ import annotations

import asyncio
import collections
import contextlib

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.console.contract.jobs import Progress
from traincrew.console.job_cache import JobCache, Key
from traincrew.console.view import job_progress, series
from traincrew.console.view.job_summaries import Activity
from traincrew.diagnosis import hang
from traincrew.inspection import activity_query, observed_job
from traincrew.model import objects
from traincrew.serving import background_tasks

INTERVAL = 10.0
MAX_JOBS = 20
"""Jobs that are examined at once. The others follow in the next rounds."""
LAST_LINES = 50
MAX_LINE = 4096


class JobActivity:
    def __init__(self, client: RemoteClient, cache: JobCache, limits: hang.HangLimits | None = None) -> None:
        self._client, self._cache = client, cache
        self._search = activity_query.HangSearch(limits or hang.HangLimits())
        self._trackers: dict[tuple[Key, str], series.Tracker] = {}
        """By job and UID of the pod: an epoch is printed less often than the steps in it."""
        self._turns: collections.deque[Key] = collections.deque()

    def running(self) -> contextlib.AbstractAsyncContextManager[None]:
        return background_tasks.running(self._run())

    async def _run(self) -> None:
        await self._cache.synced.wait()
        while True:
            if self._cache.is_watched:
                with contextlib.suppress(errors.ApiError):  # the informers report it
                    await self.examine()
            await asyncio.sleep(INTERVAL)

    async def examine(self) -> None:
        """Examine the jobs whose turn it is."""
        jobs = self._next_jobs()
        found = await activity_query.with_hangs(self._client, list(jobs.values()), self._search, self._cache.pod_namespace)
        progress = await asyncio.gather(*(self._progress(key, job) for key, job in jobs.items()))
        for key, job, reached in zip(jobs, found, progress, strict=True):
            self._cache.report(key, Activity(job.hang, reached))

    def _next_jobs(self) -> dict[Key, observed_job.ObservedJob]:
        running = {job.key: job for job in self._cache.running_jobs()}
        known = set(self._turns)
        self._turns = collections.deque(
            [key for key in self._turns if key in running] + [key for key in running if key not in known]
        )
        self._trackers = {key: each for key, each in self._trackers.items() if key[0] in running}
        chosen = [self._turns.popleft() for _ in range(min(MAX_JOBS, len(self._turns)))]
        self._turns.extend(chosen)
        return {key: running[key].observed for key in chosen}

    async def _progress(self, key: Key, job: observed_job.ObservedJob) -> Progress | None:
        pod = next((pod for pod in job.pods if pod.active and _prints(job, pod)), None)
        container = job.training_container(pod) if pod is not None else ""
        if pod is None or not container:
            return None
        tracker = self._trackers.setdefault((key, pod.metadata.uid), series.Tracker())
        position = pod_logs.ContainerReference(pod.metadata.namespace, pod.name, container)
        with contextlib.suppress(errors.ApiError):
            options = pod_logs.PodLogOptions(tail=LAST_LINES, max_line=MAX_LINE)
            async for batch in pod_logs.lines(self._client, position, options):
                for line in batch:
                    tracker.add(series.parse(line.text.decode("utf-8", "replace")))
        return job_progress.of_output(tracker)


def _prints(job: observed_job.ObservedJob, pod: objects.Pod) -> bool:
    silent = [role.label for role in job.kind.roles if not role.prints]
    return not any(observed_job.matches(job.replica(pod), label) for label in silent)
