"""Follows the logs of all replicas of a job, including replicas that are added or restarted later."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib

from traincrew.cli.jobs.terminal_output import TerminalOutput
from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.inspection import container_runs, job_informer, log_files, log_follower, observed_job
from traincrew.model import meta, objects
from traincrew.model.meta import Time


@dataclasses.dataclass(frozen=True)
class LogSelection:
    """Which logs to print, and how."""

    replica: str = ""
    container: str = ""
    first: pod_logs.PodLogOptions = pod_logs.PodLogOptions()
    """Selects the lines of replicas that are already running."""
    earlier: bool = True
    """Include the earlier runs of these replicas."""
    timestamps: bool = False
    prefix: bool = True
    job: bool = False
    """Print the name of the job before the name of the replica."""


class LogStreams:
    def __init__(
        self,
        client: RemoteClient,
        informer: job_informer.JobInformer,
        console: TerminalOutput,
        choice: LogSelection,
        log_root: pathlib.Path | None = None,
    ) -> None:
        self._client, self._informer, self._console, self._choice = client, informer, console, choice
        self._log_root = log_root
        self._logs: dict[tuple[str, str], tuple[log_follower.LogFollower, asyncio.Task[None]]] = {}
        self._last_output: dict[str, Time] = {}
        """By UID of the pod: the time of its latest line."""
        self._followed_changes = -1
        """The number of changes for which the logs of all containers are followed."""
        self._followed = asyncio.Event()
        self._batches = 0
        """Batches of lines that were printed."""

    def add_missed_pods(self) -> None:
        """Add the pods of the job that were deleted before the first list, whose logs are stored on this machine."""
        job = self._informer.observe()
        if self._log_root is None or job is None:
            return
        key = self._informer.key
        missed = {
            stored.uid: objects.Pod(metadata=meta.Meta(name=stored.pod, namespace=key.namespace, uid=stored.uid))
            for stored in log_files.of_present_job(self._log_root, key.kind, job.job.metadata)
        }
        self._informer.pods = {**missed, **self._informer.pods}

    async def run(self) -> None:
        """Run until cancelled."""
        first = True
        while True:
            for uid, pod in list(self._informer.pods.items()):
                if observed_job.matches(self._replica(pod), self._choice.replica) or not self._choice.replica:
                    for container in self._containers(uid, pod):
                        self._start(uid, pod, container, first)
            first = False
            self._followed_changes = self._informer.changes
            self._followed.set()
            await self._informer.changed(self._followed_changes)

    def last_output(self, pod: objects.Pod) -> Time | None:
        """The time of the latest line of the pod; None: it has printed nothing."""
        return self._last_output.get(pod.metadata.uid)

    def latest_output(self) -> Time | None:
        """The time of the latest line of any pod."""
        return max(self._last_output.values(), default=None)

    async def complete(self) -> None:
        """Return when the logs of all replicas are followed, and no replica will start."""
        while not self._informer.no_log_will_start(self._followed_changes):
            self._followed.clear()
            await self._followed.wait()

    async def drain(self, longest_silence: float) -> None:
        """Wait until the logs of terminated containers are read to the end, or none of them had a line for so long."""
        reading, batches = {task for log, task in self._logs.values() if self._is_over(log.source)}, -1
        while reading and batches != self._batches:
            batches = self._batches
            _, reading = await asyncio.wait(reading, timeout=longest_silence)

    async def finished(self) -> None:
        """Return when every log is read to its end."""
        while pending := [task for _, task in self._logs.values() if not task.done()]:
            await asyncio.wait(pending)

    async def close(self) -> None:
        tasks = [task for _, task in self._logs.values()]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)

    def error(self) -> str:
        return next(
            (f"cannot read the log of {log.source.position.pod}: {log.error}" for log, _ in self._logs.values() if log.error), ""
        )

    def _is_over(self, source: log_follower.ContainerLog) -> bool:
        pod = self._informer.pods[source.uid]
        return (
            source.uid not in self._informer.existing or pod.finished or container_runs.run(pod, source.position.container).over
        )

    def _containers(self, uid: str, pod: objects.Pod) -> list[str]:
        if self._choice.container:
            return [self._choice.container]
        names = [each.name for each in pod.status.container_statuses]
        if not names and uid not in self._informer.existing and self._log_root is not None:
            # The pod was deleted before the watch showed its containers.
            names = log_files.of_pod(self._log_root, pod.metadata.namespace, pod.name, uid)
        return names

    def _replica(self, pod: objects.Pod) -> str:
        return observed_job.replica(self._informer.key.name, pod.name)

    def _start(self, uid: str, pod: objects.Pod, container: str, first: bool) -> None:
        if (uid, container) in self._logs:
            return
        source = log_follower.ContainerLog(pod_logs.ContainerReference(pod.metadata.namespace, pod.name, container), uid)
        name = self._name(pod, container)

        def print_lines(lines: list[pod_logs.PodLogLine]) -> None:
            times = [pod_logs.timestamp(line) for line in lines if line.nanoseconds]
            if times:
                self._last_output[uid] = max(times)
            self._batches += 1
            self._console.lines(name, lines, timestamps=self._choice.timestamps)

        log = log_follower.LogFollower(self._client, self._informer, source, print_lines, self._log_root)
        wanted = self._choice.first if first else pod_logs.PodLogOptions()
        task = asyncio.create_task(log.follow(wanted, earlier=self._choice.earlier or not first))
        self._logs[uid, container] = (log, task)

    def _name(self, pod: objects.Pod, container: str) -> str:
        if not self._choice.prefix:
            return ""
        name = self._replica(pod)
        if len(pod.status.container_statuses) > 1 or self._choice.container:
            name = f"{name}/{container}"
        return f"{self._informer.key.name}/{name}" if self._choice.job else name
