"""Follows the log of one container over all its runs. No line is lost or printed twice.

Lines have timestamps. After a lost connection, the log is resumed at the second of the last line, and lines that were already
read are skipped. If the container restarted in the meantime, the end of its last run is read as its previous log before the new
one. The log of a deleted container is read from stored files, if the cluster runs on this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
from collections.abc import Callable

from traincrew import errors
from traincrew.client import pod_logs, retries
from traincrew.client.remote import RemoteClient
from traincrew.inspection import container_runs, job_informer, log_files, observed_job
from traincrew.model import objects, resources

OnLines = Callable[[list[pod_logs.PodLogLine]], None]
FIRST_DELAY, LONGEST_DELAY = 0.1, 2.0


@dataclasses.dataclass(frozen=True)
class ContainerLog:
    """A container of one pod. A pod that replaces it has the same name and another UID."""

    position: pod_logs.ContainerReference
    uid: str
    read: pod_logs.LogPosition | None = None
    """How far the log was read before. None: it was not."""


class LogFollower:
    def __init__(
        self,
        client: RemoteClient,
        informer: job_informer.JobInformer,
        source: ContainerLog,
        on_lines: OnLines,
        log_root: pathlib.Path | None,
    ) -> None:
        self._client, self._informer, self.source = client, informer, source
        self._on_lines, self._log_root = on_lines, log_root
        self._position = source.read or pod_logs.LogPosition()
        self._done = -1
        """Number of the last run that was read to its end."""
        self._first_run: int | None = None
        self._unfinished: list[pod_logs.PodLogLine] = []
        """The last new line of a followed stream, if it had no end: it may be cut, so it is read again after the run is over."""
        self._backoff = retries.Backoff(FIRST_DELAY, LONGEST_DELAY)
        self.error = ""

    async def follow(self, first: pod_logs.PodLogOptions, *, earlier: bool = True) -> None:
        """Follow until no run will come. `first` selects the existing lines; `earlier`: include earlier runs."""
        if not earlier:
            self._done = max(
                container_runs.run(self._informer.pods[self.source.uid], self.source.position.container).number - 1, -1
            )
        while (run := await self._next_run()) is not None:
            try:
                if run.number == self._done + 1 or await self._previous(run, first):
                    await self._current(run, first)
                self.error = ""
            except errors.NotFound:
                await self._wait_for_change(self._informer.changes)
            except errors.Forbidden as error:
                self.error = error.message
                return
            except errors.ApiError as error:
                self.error = error.message
                await asyncio.sleep(self._backoff.next())
        if self._is_deleted():
            await self._read_stored(first)
        self._emit_unfinished()

    async def _next_run(self) -> container_runs.ContainerAttempt | None:
        """Wait for the next run to read; None if no run will come."""
        while True:
            seen_changes = self._informer.changes
            pod = self._informer.pods[self.source.uid]
            found = container_runs.run(pod, self.source.position.container)
            if self._is_deleted():
                return None
            if found.number > self._done:
                return found
            if container_runs.is_last(pod, self.source.position.container):
                return None
            await self._informer.changed(seen_changes)

    async def _wait_for_change(self, seen_changes: int) -> None:
        """Wait for a change of the pod, or for the backoff: the API does not have the log or the end of the pod yet."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._backoff.next()):
                await self._informer.changed(seen_changes)

    def _is_deleted(self) -> bool:
        return self.source.uid not in self._informer.existing

    async def _previous(self, run: container_runs.ContainerAttempt, first: pod_logs.PodLogOptions) -> bool:
        """Read the earlier runs: all of them from stored files, else the previous run from the API."""
        if self._log_root is None or not await self._read_stored(first, before=run.number):
            wanted = dataclasses.replace(self._resumed(first, run.number), previous=True, follow=False)
            with contextlib.suppress(errors.Rejected):  # the log no longer exists
                if not await self._read(wanted, run.number):
                    return False
        self._emit_unfinished()
        self._done = run.number - 1
        return True

    async def _current(self, run: container_runs.ContainerAttempt, first: pod_logs.PodLogOptions) -> None:
        if not await self._read(dataclasses.replace(self._resumed(first, run.number), follow=True), run.number):
            return
        seen_changes = self._informer.changes
        pod = await self._get_pod()
        now = container_runs.run(pod, self.source.position.container) if pod is not None else container_runs.NONE
        if pod is None:
            self._done = run.number  # the rest may be in stored files
        elif now.number == run.number and not now.over:
            await self._wait_for_change(seen_changes)  # the connection was lost, or the end of the container is not reported yet
        elif now.number == run.number and await self._read(self._resumed(first, run.number), run.number):
            # Read again after the run is over: the end of a stream does not mean that it was complete.
            self._done = run.number
            self._backoff.reset()
        # If another run has followed, the end of this one is read as the previous log.

    def _resumed(self, first: pod_logs.PodLogOptions, run: int) -> pod_logs.PodLogOptions:
        """Resume at the last line. Without any line of the first run yet, use the selection of the user."""
        if self._position.last:
            return pod_logs.PodLogOptions(since=self._position.since(), max_line=first.max_line)
        return first if self._first_run in (None, run) else pod_logs.PodLogOptions(max_line=first.max_line)

    async def _read(self, wanted: pod_logs.PodLogOptions, run: int) -> bool:
        """Return False if the container restarted meanwhile, so that the log may belong to another run."""
        resumed = pod_logs.Resumed(self._position)
        async with contextlib.aclosing(pod_logs.lines(self._client, self.source.position, wanted)) as batches:
            await anext(batches)
            if not await self._belongs_to_run(run):
                await asyncio.sleep(self._backoff.next())
                return False
            self._first_run = run if self._first_run is None else self._first_run
            self.error = ""
            self._unfinished = []
            async for batch in batches:
                new = [line for line in batch if resumed.is_new(line)]
                self._emit([line for line in new if line.whole or not wanted.follow])
                self._unfinished = [line for line in new if wanted.follow and not line.whole]
        return True

    def _emit_unfinished(self) -> None:
        lines, self._unfinished = self._unfinished, []
        self._emit(lines)

    async def _belongs_to_run(self, run: int) -> bool:
        """Whether the log that was opened before this call belongs to the run.

        The kubelet restarts a container before the API reports it. Stored files are as current as the kubelet. Without them there
        is a short time in which the log of the next run may be taken for the log of this run.
        """
        pod = await self._get_pod()
        if pod is not None and container_runs.run(pod, self.source.position.container).number != run:
            return False
        newest = log_files.newest(self._log_root, self.source.position, self.source.uid) if self._log_root is not None else None
        return newest is None or newest <= run

    def _emit(self, lines: list[pod_logs.PodLogLine]) -> None:
        for line in lines:
            self._position.took(line)
        if lines:
            self._backoff.reset()
            self._on_lines(lines)

    async def _get_pod(self) -> objects.Pod | None:
        """The current pod; None if it is deleted."""
        try:
            raw = await self._client.get(resources.PODS, self.source.position.namespace, self.source.position.pod)
        except errors.NotFound:
            return None
        pod = observed_job.decode_pod(raw)
        return pod if pod.metadata.uid == self.source.uid else None

    async def _read_stored(self, first: pod_logs.PodLogOptions, before: int | None = None) -> bool:
        """Read the stored files; return whether there are any."""
        if self._log_root is None:
            return False
        resumed, wanted = pod_logs.Resumed(self._position), self._resumed(first, self._done + 1)
        source, found = self.source, False
        async for batch in log_files.lines(self._log_root, source.position, source.uid, wanted, before):
            found = True
            self._unfinished = []  # the files have this line, too
            self._emit([line for line in batch if resumed.is_new(line)])
        if found and self._first_run is None:
            self._first_run = self._done + 1
        return found
