"""The log of one container from its first run to its last: no line lost, none twice.

Times come before lines, and are how a log is taken up again after the connection was cut: from the second of the last line,
passing over what was read. When a container was restarted meanwhile, the end of its last run is read as its previous log before
the new one; a container of the API's own machine that is gone altogether is read from the files that are kept of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
from collections.abc import Callable

from traincrew import errors
from traincrew.cli.jobs import container_runs, job_informer, stored_logs
from traincrew.cli.render import observed_job
from traincrew.client import pod_logs, retries
from traincrew.client.remote import RemoteClient
from traincrew.model import objects, resources

OnLines = Callable[[list[pod_logs.Line]], None]
FIRST_DELAY, LONGEST_DELAY = 0.1, 2.0


@dataclasses.dataclass(frozen=True)
class ContainerLog:
    """A container of a pod that may be replaced by another of the same name."""

    position: pod_logs.LogPosition
    uid: str


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
        self._position = pod_logs.Position()
        self._done = -1
        """The last run that was read to its end."""
        self._first_run: int | None = None
        self._backoff = retries.Backoff(FIRST_DELAY, LONGEST_DELAY)
        self.error = ""

    async def follow(self, first: pod_logs.Wanted, *, earlier: bool = True) -> None:
        """Until there will be no more. `first`: what is wanted of what there is already; `earlier`: of earlier runs, too."""
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
                await self._wait_for_news(self._informer.changes)
            except errors.Forbidden as error:
                self.error = error.message
                return
            except errors.ApiError as error:
                self.error = error.message
                await asyncio.sleep(self._backoff.next())
        if self._is_gone():
            await self._from_files(first)

    async def _next_run(self) -> container_runs.Run | None:
        """The run to be read next, once it has started; None if there will be none."""
        while True:
            heard = self._informer.changes
            pod = self._informer.pods[self.source.uid]
            found = container_runs.run(pod, self.source.position.container)
            if self._is_gone():
                return None
            if found.number > self._done:
                return found
            if container_runs.is_last(pod, self.source.position.container):
                return None
            await self._informer.changed(heard)

    async def _wait_for_news(self, heard: int) -> None:
        """The server no longer has the pod, or not yet its log or its end: the watch will tell; else we ask again."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._backoff.next()):
                await self._informer.changed(heard)

    def _is_gone(self) -> bool:
        return self.source.uid not in self._informer.existing

    async def _previous(self, run: container_runs.Run, first: pod_logs.Wanted) -> bool:
        """What came before that run: all of it where there are files, else what the API has, which is the last one."""
        if self._log_root is None or not await self._from_files(first, before=run.number):
            wanted = dataclasses.replace(self._resumed(first, run.number), previous=True, follow=False)
            with contextlib.suppress(errors.Rejected):  # it is kept no longer
                if not await self._read(wanted, run.number):
                    return False
        self._done = run.number - 1
        return True

    async def _current(self, run: container_runs.Run, first: pod_logs.Wanted) -> None:
        if not await self._read(dataclasses.replace(self._resumed(first, run.number), follow=True), run.number):
            return
        heard = self._informer.changes
        pod = await self._fresh()
        now = container_runs.run(pod, self.source.position.container) if pod is not None else container_runs.NONE
        if pod is None:
            self._done = run.number  # what is left of it is in files, if anywhere
        elif now.number == run.number and not now.over:
            await self._wait_for_news(heard)  # the stream was cut; or the container has ended, and we are told next
        elif now.number == run.number and await self._read(self._resumed(first, run.number), run.number):
            # Read once more when it was over: that a stream ends does not say that it had everything.
            self._done = run.number
            self._backoff.reset()
        # Of a run that another has followed, the end is read as the previous log.

    def _resumed(self, first: pod_logs.Wanted, run: int) -> pod_logs.Wanted:
        """From where we are; as long as nothing has come of the run that was there first, as it was asked for."""
        if self._position.last:
            return pod_logs.Wanted(since=self._position.since())
        return first if self._first_run in (None, run) else pod_logs.Wanted()

    async def _read(self, wanted: pod_logs.Wanted, run: int) -> bool:
        """False if the container was restarted while we asked: then it is not certain whose log this is."""
        resumed = pod_logs.Resumed(self._position)
        async with contextlib.aclosing(pod_logs.lines(self._client, self.source.position, wanted)) as batches:
            await anext(batches)
            if not await self._is_certain(run):
                await asyncio.sleep(self._backoff.next())
                return False
            self._first_run = run if self._first_run is None else self._first_run
            async for batch in batches:
                self._take([line for line in batch if resumed.is_new(line)])
        return True

    async def _is_certain(self, run: int) -> bool:
        """Whether the log that was opened before this is asked can be of no later run.

        A node starts a container again before the API tells of it. Its files are as fast as the node; elsewhere a moment is
        left in which the log of the next run may be taken for this one's.
        """
        pod = await self._fresh()
        if pod is not None and container_runs.run(pod, self.source.position.container).number != run:
            return False
        newest = stored_logs.newest(self._log_root, self.source.position, self.source.uid) if self._log_root is not None else None
        return newest is None or newest <= run

    def _take(self, lines: list[pod_logs.Line]) -> None:
        for line in lines:
            self._position.took(line)
        if lines:
            self._backoff.reset()
            self._on_lines(lines)

    async def _fresh(self) -> objects.Pod | None:
        """The pod as it is now; None if it is gone."""
        try:
            raw = await self._client.get(resources.PODS, self.source.position.namespace, self.source.position.pod)
        except errors.NotFound:
            return None
        pod = observed_job.decode_pod(raw)
        return pod if pod.metadata.uid == self.source.uid else None

    async def _from_files(self, first: pod_logs.Wanted, before: int | None = None) -> bool:
        """Whether there are any."""
        if self._log_root is None:
            return False
        resumed, wanted = pod_logs.Resumed(self._position), self._resumed(first, self._done + 1)
        source, found = self.source, False
        async for batch in stored_logs.lines(self._log_root, source.position, source.uid, wanted, before):
            found = True
            self._take([line for line in batch if resumed.is_new(line)])
        if found and self._first_run is None:
            self._first_run = self._done + 1
        return found
