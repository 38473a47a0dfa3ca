"""One pod's life on this node: what is known of it, what follows from that, and its being carried out."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from traincrew.client import clock
from traincrew.embedded.kubelet.lifecycle import next_steps, transitions
from traincrew.embedded.kubelet.lifecycle.observed import Eviction, ObservedPod, Running, SandboxGone
from traincrew.embedded.kubelet.lifecycle.steps import ReadLogTail, RemovePod, ResolveImage, Step
from traincrew.embedded.kubelet.pods import adoption
from traincrew.embedded.kubelet.pods.executor import PodExecutor
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.pods.status_manager import StatusManager
from traincrew.embedded.kubelet.pods.tools import Tools
from traincrew.embedded.kubelet.runtime import runtime as sandbox

log = logging.getLogger(__name__)

AFTER_A_FAULT = 5.0
"""Seconds before a pod is looked at again whose look failed."""
PATIENCE = 0.05


class PodWorker:
    """A `containers.Run`, a `deeds.Case` and the loop of one pod."""

    def __init__(self, pod: dict[str, Any], tools: Tools) -> None:
        self.object = pod
        self.facts = ObservedPod(first_seen=clock.now(), host_ips=(tools.place.address,))
        self.shim: sandbox.ShimClient | None = None
        self.ledger = PodStateDirectory(tools.pods / pod["metadata"]["uid"])
        self._tools = tools
        self._changed = asyncio.Event()
        self._news = asyncio.Event()
        """Set once, and replaced then: for all who wait."""
        self._under_way: set[asyncio.Task[None]] = set()
        self._busy: set[Step] = set()
        self._deeds = PodExecutor(self, tools)
        self._status = StatusManager(tools.client, lambda: self.object, self._rewritten, self.shown)
        self.over = False
        self.recovered = asyncio.Event()
        """What an earlier daemon left of it has been found again."""

    @property
    def uid(self) -> str:
        return str(self.object["metadata"]["uid"])

    @property
    def address(self) -> str:
        return getattr(self.facts.sandbox, "ip", "")

    def running(self, container: str) -> bool:
        return isinstance(self.facts.container(container).state, Running)

    def door(self) -> str:
        return str(self._tools.doors / f"{self.uid}.sock")

    @property
    def busy(self) -> bool:
        """Whether anything of it runs, or its end has not been told yet."""
        at_work = self.facts.sandbox is not None and not isinstance(self.facts.sandbox, SandboxGone)
        return not self.over and (at_work or not self._status.is_settled)

    async def rested(self) -> None:
        while self.busy:
            await self._wait(clock.now() + dt.timedelta(seconds=PATIENCE))
            await asyncio.sleep(0)

    def shown(self, pod: dict[str, Any]) -> None:
        """The API has it like this now."""
        self.object = pod
        self._changed.set()

    def removed(self) -> None:
        """The API has it no more."""
        self.learn(lambda facts: dataclasses.replace(facts, object_deleted=True))

    def evict(self, eviction: Eviction) -> None:
        with contextlib.suppress(FileNotFoundError):  # what there was of it is being cleared away just now
            if self.ledger.identity() is not None:
                self.ledger.evict(eviction)
        self.learn(lambda facts: dataclasses.replace(facts, eviction=eviction))

    def learn(self, change: Callable[[ObservedPod], ObservedPod]) -> None:
        self.facts = change(self.facts)
        self._changed.set()
        self._news.set()
        self._news = asyncio.Event()

    async def news(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    def refresh(self) -> None:
        """Its files are brought up to date; if a container waits for just that, it is looked at again."""
        self._spawn(self._deeds.refresh())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def _rewritten(self, pod: dict[str, Any]) -> None:
        self.object = self._tools.learn(pod)

    async def run(self) -> None:
        try:
            await self._recover()
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self._status.run())
                await self._look_until_over()
                writing.cancel()
        finally:
            self.recovered.set()
            for task in self._under_way:
                task.cancel()
            if self.shim is not None:
                self.shim.close()

    async def _recover(self) -> None:
        found = await adoption.adopt(self.object, self.ledger, self._tools, self.facts)
        self.facts, self.shim = found.facts, found.shim
        if self.shim is not None:
            self.follow(self.shim)
            self._spawn(self._deeds.follow_objects())
        self.recovered.set()

    async def _look_until_over(self) -> None:
        while not self.over:
            self._changed.clear()
            try:
                again = self._look()
            except Exception:
                # One pod that cannot be thought through must not end the agent.
                log.exception("pod not understood", extra={"pod": self.object["metadata"]["name"]})
                again = clock.now() + dt.timedelta(seconds=AFTER_A_FAULT)
            await self._wait(again)

    def _look(self) -> dt.datetime | None:
        now = clock.now()
        if isinstance(self.facts.sandbox, SandboxGone):
            self._tools.devices.give_back(self.uid)
        found = next_steps(self.object, self.facts, now)
        for event in found.events:
            self._tools.recorder.event(self.object, event, now)
        self.facts = dataclasses.replace(self.facts, recorded_events=found.event_keys)
        if self.facts.object_deleted:
            self._status.abandon()
        else:
            self._status.want(found.status, passing=found.status.get("phase") == "Pending")
        for step in found.steps:
            self._begin(step, now)
        return found.sync_at

    def _begin(self, step: Step, now: dt.datetime) -> None:
        if isinstance(step, ResolveImage) and self._resolved(step):
            return
        # These leave no mark in the facts.
        unmarked = isinstance(step, ResolveImage | ReadLogTail | RemovePod)
        if unmarked and step in self._busy:
            return
        if unmarked:
            self._busy.add(step)
        self.facts = transitions.step_started(self.facts, step, now)
        self._spawn(self._carry_out(step))

    def _resolved(self, step: ResolveImage) -> bool:
        """Nothing is waited for by it: what follows from it need not wait for others' turns."""
        with contextlib.suppress(Exception):  # as a step of its own it is told, and tried again
            self._deeds.resolve(step.container)
            return True
        return False

    async def _carry_out(self, step: Step) -> None:
        try:
            if isinstance(step, RemovePod):
                await self._status.settled()
            await self._deeds.do(step)
        except Exception as error:
            log.exception("step failed", extra={"pod": self.object["metadata"]["name"], "step": type(step).__name__})
            await asyncio.sleep(AFTER_A_FAULT)
            self._deeds.failed(step, error)
        finally:
            self._busy.discard(step)
            self._changed.set()

    async def _wait(self, until: dt.datetime | None) -> None:
        seconds = None if until is None else max(0.0, (until - clock.now()).total_seconds())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def follow(self, shim: sandbox.ShimClient) -> None:
        """Hears of the ends of its containers, and of its own."""
        self.shim = shim
        self._spawn(self._listen(shim))

    async def _listen(self, shim: sandbox.ShimClient) -> None:
        async for container, attempt in shim.exits():
            self.heard_end(container, attempt)
        if isinstance(self.facts.sandbox, SandboxGone) or self.facts.stopping_sandbox_since is not None:
            return
        # Before anybody knows: a sandbox that is made anew has its files in the same places.
        await adoption.bury(self.ledger, self._tools)
        if self.facts.stopping_sandbox_since is None:
            self.learn(lambda facts: adoption.lost(facts, self.ledger, clock.now()))

    def heard_end(self, container: str, attempt: int) -> None:
        last = self.facts.container(container).state
        if isinstance(last, Running) and last.attempt == attempt:
            self.learn(
                lambda facts: transitions.container_exited(facts, container, adoption.exit_of(self.ledger, container, attempt))
            )
