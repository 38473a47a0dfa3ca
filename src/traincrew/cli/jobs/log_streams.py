"""The logs of all replicas of a job as they come: those that are there, those that are added, those that are restarted."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib

from traincrew.cli.jobs import container_runs, informers, log_follow, stored_logs
from traincrew.cli.render import view
from traincrew.cli.render.screen import Screen
from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.model import objects


@dataclasses.dataclass(frozen=True)
class Choice:
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


class Streams:
    def __init__(
        self, client: RemoteClient, copy: informers.Copy, screen: Screen, choice: Choice, shelf: pathlib.Path | None = None
    ) -> None:
        self._client, self._copy, self._screen, self._choice = client, copy, screen, choice
        self._shelf = shelf
        self._logs: dict[tuple[str, str], tuple[log_follow.Log, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """Until cancelled."""
        first = True
        while True:
            heard = self._copy.changes
            for uid, pod in list(self._copy.pods.items()):
                if view.matches(self._replica(pod), self._choice.replica) or not self._choice.replica:
                    for container in self._containers(uid, pod):
                        self._begin(uid, pod, container, first)
            first = False
            await self._copy.changed(heard)

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

    def trouble(self) -> str:
        return next(
            (f"cannot read the log of {log.source.place.pod}: {log.trouble}" for log, _ in self._logs.values() if log.trouble), ""
        )

    def _is_over(self, source: log_follow.Source) -> bool:
        pod = self._copy.pods[source.uid]
        return source.uid not in self._copy.there or pod.finished or container_runs.run(pod, source.place.container).over

    def _containers(self, uid: str, pod: objects.Pod) -> list[str]:
        if self._choice.container:
            return [self._choice.container]
        names = [each.name for each in pod.status.container_statuses]
        if not names and uid not in self._copy.there and self._shelf is not None:
            # It came and went faster than its states were told.
            names = stored_logs.of_pod(self._shelf, pod.metadata.namespace, pod.name, uid)
        return names

    def _replica(self, pod: objects.Pod) -> str:
        return view.replica(self._copy.key.name, pod.name)

    def _begin(self, uid: str, pod: objects.Pod, container: str, first: bool) -> None:
        if (uid, container) in self._logs:
            return
        source = log_follow.Source(pod_logs.LogPosition(pod.metadata.namespace, pod.name, container), uid)
        name = self._name(pod, container)

        def shown(lines: list[pod_logs.Line]) -> None:
            self._screen.lines(name, lines, timestamps=self._choice.timestamps)

        log = log_follow.Log(self._client, self._copy, source, shown, self._shelf)
        wanted = self._choice.first if first else pod_logs.Wanted()
        task = asyncio.create_task(log.follow(wanted, earlier=self._choice.earlier or not first))
        self._logs[uid, container] = (log, task)

    def _name(self, pod: objects.Pod, container: str) -> str:
        if not self._choice.prefix:
            return ""
        name = self._replica(pod)
        if len(pod.status.container_statuses) > 1 or self._choice.container:
            name = f"{name}/{container}"
        return f"{self._copy.key.name}/{name}" if self._choice.job else name
