"""The logs of all replicas of a job as they come: those that are there, those that are added, those that are restarted."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib

from traincrew.cli.jobs import container_runs, job_informer, log_follower, stored_logs
from traincrew.cli.jobs.console import Console
from traincrew.cli.render import observed_job
from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.model import objects


@dataclasses.dataclass(frozen=True)
class LogSelection:
    """Which logs, and how they are shown."""

    replica: str = ""
    container: str = ""
    first: pod_logs.Wanted = pod_logs.Wanted()
    """What is wanted of replicas that run already."""
    earlier: bool = True
    """Earlier runs of these, too."""
    timestamps: bool = False
    prefix: bool = True
    job: bool = False
    """The job's name stands before the replica's."""


class LogStreams:
    def __init__(
        self,
        client: RemoteClient,
        informer: job_informer.JobInformer,
        console: Console,
        choice: LogSelection,
        log_root: pathlib.Path | None = None,
    ) -> None:
        self._client, self._informer, self._console, self._choice = client, informer, console, choice
        self._log_root = log_root
        self._logs: dict[tuple[str, str], tuple[log_follower.LogFollower, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """Until cancelled."""
        first = True
        while True:
            heard = self._informer.changes
            for uid, pod in list(self._informer.pods.items()):
                if observed_job.matches(self._replica(pod), self._choice.replica) or not self._choice.replica:
                    for container in self._containers(uid, pod):
                        self._begin(uid, pod, container, first)
            first = False
            await self._informer.changed(heard)

    async def drain(self, patience: float) -> None:
        """Waits until what has ended is read to its end; what still runs is left."""
        ended = [task for log, task in self._logs.values() if self._is_over(log.source)]
        if ended:
            await asyncio.wait(ended, timeout=patience)

    async def finished(self) -> None:
        """Returns when every log that was begun has been read to its end."""
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
            # It came and went faster than its states were told.
            names = stored_logs.of_pod(self._log_root, pod.metadata.namespace, pod.name, uid)
        return names

    def _replica(self, pod: objects.Pod) -> str:
        return observed_job.replica(self._informer.key.name, pod.name)

    def _begin(self, uid: str, pod: objects.Pod, container: str, first: bool) -> None:
        if (uid, container) in self._logs:
            return
        source = log_follower.ContainerLog(pod_logs.LogPosition(pod.metadata.namespace, pod.name, container), uid)
        name = self._name(pod, container)

        def shown(lines: list[pod_logs.Line]) -> None:
            self._console.lines(name, lines, timestamps=self._choice.timestamps)

        log = log_follower.LogFollower(self._client, self._informer, source, shown, self._log_root)
        wanted = self._choice.first if first else pod_logs.Wanted()
        task = asyncio.create_task(log.follow(wanted, earlier=self._choice.earlier or not first))
        self._logs[uid, container] = (log, task)

    def _name(self, pod: objects.Pod, container: str) -> str:
        if not self._choice.prefix:
            return ""
        name = self._replica(pod)
        if len(pod.status.container_statuses) > 1 or self._choice.container:
            name = f"{name}/{container}"
        return f"{self._informer.key.name}/{name}" if self._choice.job else name
