"""Stays with jobs until they have ended: their logs, what they wait for, their outcome."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
from collections.abc import AsyncIterator, Sequence

from traincrew.cli.jobs import informers, log_streams
from traincrew.cli.jobs.interrupts import Answer, Interrupts
from traincrew.cli.render import stages, tables, view
from traincrew.cli.render.screen import Screen
from traincrew.client import clock
from traincrew.client.remote import RemoteClient
from traincrew.model import naming, objects
from traincrew.planner import failure_summary

QUIET = 0.3
"""Seconds for which a state must last before it is told, where every telling is a line of its own: most pass sooner."""
LINGER = 1.0
"""Seconds that replicas which still run may go on writing when the job is over: some, like parameter servers, never end."""
DRAIN = 10.0
"""Seconds that the last lines of what has ended may take."""


class Outcome(Exception):
    """The watch is over before the job is."""

    def __init__(self, answer: Answer, number: int) -> None:
        super().__init__(answer.value)
        self.answer, self.number = answer, number


@dataclasses.dataclass
class Attended:
    copy: informers.Copy
    logs: log_streams.Streams
    loops: dict[str, str] = dataclasses.field(default_factory=dict)
    """The words in which each trouble was first told that changes its words for ever."""

    @property
    def over(self) -> bool:
        now = self.copy.view()
        return self.copy.gone or (now is not None and now.job.status.finished)

    def state(self) -> str:
        if trouble := self.copy.trouble():
            return f"cannot watch the API server: {trouble}"
        now = self.copy.view()
        return (stages.waits_for(now) or self.logs.trouble()) if now is not None and not self.over else ""

    def loop(self) -> str:
        now = self.copy.view()
        return stages.loop(now) if now is not None and not self.over and not self.copy.trouble() else ""

    def unstarted(self) -> str:
        """Of a job that has succeeded: replicas that it did without, which is rarely what was meant."""
        now = self.copy.view()
        if now is None or now.state != "Succeeded":
            return ""
        ran = {_place(pod) for pod in self.copy.pods.values() if stages.started(pod)}
        missing = now.job.total - len(ran)
        return f"; {missing} of {now.job.total} replicas never started" if missing > 0 else ""

    async def linger(self) -> None:
        """Replicas end one after the other; what the last ones have to say when the job is over is part of its log."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while any(not self.copy.pods[uid].finished for uid in self.copy.there):
                    await self.copy.changed(self.copy.changes)

    def exit_code(self) -> int:
        now = self.copy.view()
        finished = now is not None and now.job.status.finished
        return view.exit_code(now.job.status) if finished and now is not None else 1


class Attendance:
    def __init__(self, client: RemoteClient, screen: Screen, shelf: pathlib.Path | None) -> None:
        self._client, self._screen, self._shelf = client, screen, shelf
        self.jobs: list[Attended] = []
        self._told: set[str] = set()
        """States that are told once: elsewhere than on a terminal they would be a line every few seconds."""

    async def attend(self, keys: Sequence[informers.Key], interrupts: Interrupts) -> int:
        """The exit code of the first job that failed, 0 if none did; raises Outcome when somebody interrupts."""
        async with contextlib.AsyncExitStack() as stack:
            for key in keys:
                await stack.enter_async_context(self._with(key, several=len(keys) > 1))
            watching = asyncio.create_task(self._until_over())
            try:
                await self._guarded(watching, interrupts)
            finally:
                watching.cancel()
                self._screen.state("")
            for job in self.jobs:
                await job.linger()
                await job.logs.drain(DRAIN)
            self._tell_outcomes()
        return next((code for job in self.jobs if (code := job.exit_code())), 0)

    @contextlib.asynccontextmanager
    async def _with(self, key: informers.Key, several: bool) -> AsyncIterator[None]:
        copy = informers.Copy(self._client, key)
        logs = log_streams.Streams(self._client, copy, self._screen, log_streams.Choice(job=several), self._shelf)
        async with copy.kept():
            self.jobs.append(Attended(copy, logs))
            running = asyncio.create_task(logs.run())
            try:
                yield
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                await logs.close()

    async def _guarded(self, watching: asyncio.Task[None], interrupts: Interrupts) -> None:
        while not watching.done():
            signalled = asyncio.ensure_future(interrupts.next())
            await asyncio.wait({watching, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if not signalled.done():
                signalled.cancel()
                break
            what = ", ".join(f"{job.copy.key.kind.singular}/{job.copy.key.name}" for job in self.jobs if not job.over)
            answer = await interrupts.ask(signalled.result(), what, self._screen)
            if answer is not Answer.GO_ON:
                raise Outcome(answer, signalled.result())
        await watching

    async def _until_over(self) -> None:
        told = ""
        while not all(job.over for job in self.jobs):
            heard = [job.copy.changes for job in self.jobs]
            state = "; ".join(filter(None, (self._named(job) for job in self.jobs)))
            if state == told or not state:
                self._tell(state)
            told = state
            waiting = [asyncio.ensure_future(job.copy.changed(since)) for job, since in zip(self.jobs, heard, strict=True)]
            # Woken without news, too: a state that lasts is told, and troubles of logs and watches are no news of theirs.
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED, timeout=QUIET)
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _tell(self, state: str) -> None:
        if state in self._told:
            return
        self._screen.state(state)
        if state and not self._screen.live and any(job.loop() for job in self.jobs):
            self._told.add(state)

    def _named(self, job: Attended) -> str:
        state = job.state()
        if (loop := job.loop()) and not self._screen.live:
            state = job.loops.setdefault(loop, state)
        return f"{job.copy.key.name}: {state}" if state else ""

    def _tell_outcomes(self) -> None:
        for job in self.jobs:
            now = job.copy.view()
            if now is None or not now.job.status.finished:
                self._screen.say(f"{job.copy.key.kind.singular}/{job.copy.key.name} was deleted before it finished")
                continue
            took = tables.took(now, clock.now())
            self._screen.say(f"{now.reference} {now.state.lower()} after {took}{_blame(now)}{job.unstarted()}")
            if now.state == "Failed":
                self._screen.say(f"  Run `traincrew why {now.reference}` for details.")


def _place(pod: objects.Pod) -> tuple[str, str]:
    """Which of the job's replicas it is, or was before another took its place."""
    labels = pod.metadata.labels
    return labels.get(naming.REPLICA_TYPE, ""), labels.get(naming.REPLICA_INDEX, "")


def _blame(now: view.View) -> str:
    if now.state != "Failed":
        return ""
    failed = next((each.message for each in now.job.status.conditions if each.type == "Failed"), "")
    told = failure_summary.describe(now.failure) if now.failure is not None else failed
    return f": {told}" if told else ""
