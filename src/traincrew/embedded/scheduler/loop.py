"""The scheduling loop: one cycle after every relevant change decides about all pending pods."""

from __future__ import annotations

import asyncio
import logging
import socket

from traincrew.client import clock, event_recorder, interfaces
from traincrew.embedded.scheduler.binder import Binder
from traincrew.embedded.scheduler.informers import SchedulerInformers
from traincrew.scheduling.decisions import Binding, Decisions, Profile
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.pod_matches import PodMatcher
from traincrew.scheduling.scheduling_cycle import SchedulingCycle
from traincrew.serving import background_tasks

log = logging.getLogger(__name__)

MAX_HOLD = 0.01
"""Seconds after which a cycle lets other tasks run at its next step."""
PAUSE_FACTOR = 4
"""Pause after a cycle, as a multiple of its duration: a flood of pods must not occupy the machine."""
RETRY_INTERVAL = 5.0
"""Seconds after which unschedulable pods are tried again without a change: some decisions depend on time."""
BIND_BACKOFF = 1.0
"""Seconds before a pod is scheduled again whose binding failed."""
EVENTS = event_recorder.Delivery(backlog=10_000, workers=2)


class Scheduler:
    def __init__(self, client: interfaces.Client, profile: Profile) -> None:
        self._profile = profile
        self._changed = asyncio.Event()
        self._informers = SchedulerInformers(client, self._changed.set)
        self._recorder = event_recorder.EventRecorder(client, event_recorder.UniqueNames(), delivery=EVENTS)
        self._binder = Binder(client, self._informers, self._recorder, socket.gethostname())
        self._matcher = PodMatcher()
        self._assumed: dict[str, str] = {}
        """Nodes of pods whose binding is under way, or written and not yet observed, by the pod's UID."""
        self._backoff: set[str] = set()
        """UIDs of pods whose binding failed recently."""
        self._bindings: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._informers.run())
                tasks.create_task(self._recorder.run())
                tasks.create_task(background_tasks.keep_running("kube-scheduler", self._schedule))
        finally:
            for task in self._bindings:
                task.cancel()

    async def _schedule(self) -> None:
        await self._informers.synced()
        while True:
            self._changed.clear()
            try:
                decisions, duration = await self._decide()
            except Exception:
                # The next change may remove the cause; the cluster must not be left without a scheduler.
                log.exception("scheduling cycle failed")
                await self._wait(pending=True)
                continue
            await self._write(decisions)
            await asyncio.sleep(duration * PAUSE_FACTOR)
            if not decisions.incomplete:
                await self._wait(bool(decisions.unschedulable or any(each.insufficient for each in decisions.groups)))

    async def _wait(self, pending: bool) -> None:
        try:
            async with asyncio.timeout(RETRY_INTERVAL if pending else None):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _decide(self) -> tuple[Decisions, float]:
        """The decisions, and the seconds that they took. Other tasks run in between."""
        now, duration = asyncio.get_running_loop().time, 0.0
        started = now()
        pods = [known for each in self._informers.pods if (known := self._with_assumed(each)) is not None]
        self._assumed = {uid: self._assumed[uid] for uid in self._assumed.keys() & {pod.uid for pod in pods}}
        state = self._informers.cluster_state(clock.now())
        cycle = SchedulingCycle(pods, list(self._informers.nodes), state, self._profile, self._matcher)
        for _ in cycle.steps():
            if (held := now() - started) > MAX_HOLD:
                await asyncio.sleep(0)
                duration, started = duration + held, now()
        return cycle.decisions, duration + now() - started

    def _with_assumed(self, pod: PodInfo) -> PodInfo | None:
        """The pod with its assumed node; None: the pod is not to be scheduled now."""
        if pod.spec.node_name:
            self._assumed.pop(pod.uid, None)
            return pod
        if pod.uid in self._backoff:
            return None
        node = self._assumed.get(pod.uid)
        return pod.with_node(node) if node else pod

    async def _write(self, decisions: Decisions) -> None:
        for binding in decisions.bindings:
            self._assumed[binding.pod.uid] = binding.node
            task = asyncio.get_running_loop().create_task(self._bind(binding))
            self._bindings.add(task)
            task.add_done_callback(self._bindings.discard)
        binder = self._binder
        binder.keep_groups({each.group.metadata.uid for each in decisions.groups})
        await binder.write_all(binder.update_group, decisions.groups)
        await binder.write_all(binder.select_node, decisions.node_selections)
        await binder.write_all(binder.preempt, decisions.preemptions)
        await binder.write_all(binder.reject, decisions.unschedulable)

    async def _bind(self, binding: Binding) -> None:
        uid, bound = binding.pod.uid, False
        try:
            bound = await self._binder.bind(binding)
        except Exception:
            log.exception("binding failed", extra={"pod": binding.pod.full_name})
        if not bound:
            self._assumed.pop(uid, None)
            self._backoff.add(uid)
            asyncio.get_running_loop().call_later(BIND_BACKOFF, self._end_backoff, uid)

    def _end_backoff(self, uid: str) -> None:
        self._backoff.discard(uid)
        self._changed.set()
