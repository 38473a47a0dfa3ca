"""Looks whenever something has changed, has placement decided, and has it carried out."""

from __future__ import annotations

import asyncio
import logging
import socket

from traincrew.client import clock, port
from traincrew.embedded.scheduler.binder import Deeds
from traincrew.embedded.scheduler.event_recorder import Recorder
from traincrew.embedded.scheduler.informers import Copies
from traincrew.scheduling.decision import Binding, Placement, Policy
from traincrew.scheduling.placement import place
from traincrew.scheduling.pod_info import PodInfo

log = logging.getLogger(__name__)

SHARE = 4
"""A look that took so long is followed by a pause of as many times that, so that a flood of pods does not eat the machine."""
PATIENCE = 5.0
"""Seconds after which pods that wait are looked at again in any case: some of it depends on time."""
REST = 1.0
"""Seconds before a pod is tried again whose binding failed."""


class Scheduler:
    def __init__(self, client: port.Client, policy: Policy) -> None:
        self._policy = policy
        self._changed = asyncio.Event()
        self._copies = Copies(client, self._changed.set)
        self._recorder = Recorder(client, socket.gethostname())
        self._deeds = Deeds(client, self._copies, self._recorder)
        self._assumed: dict[str, str] = {}
        """Nodes of pods whose binding is under way, or was told and not yet seen, by uid."""
        self._resting: set[str] = set()
        self._binding: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._copies.run())
                tasks.create_task(self._recorder.run())
                tasks.create_task(self._work())
        finally:
            for task in self._binding:
                task.cancel()

    async def _work(self) -> None:
        await self._copies.synced()
        clock = asyncio.get_running_loop().time
        while True:
            self._changed.clear()
            started = clock()
            try:
                placement = self._look()
            except Exception:
                # Whatever it was about, the next change may mend it; pods that run must not be left without a scheduler.
                log.exception("placement failed")
                await self._wait(some_wait=True)
                continue
            took = clock() - started
            await self._carry_out(placement)
            await asyncio.sleep(took * SHARE)
            if not placement.unfinished:
                await self._wait(bool(placement.refusals or any(each.short for each in placement.groups)))

    async def _wait(self, some_wait: bool) -> None:
        try:
            async with asyncio.timeout(PATIENCE if some_wait else None):
                await self._changed.wait()
        except TimeoutError:
            return

    def _look(self) -> Placement:
        pods = [seen for each in self._copies.pods if (seen := self._seen(each)) is not None]
        self._assumed = {uid: self._assumed[uid] for uid in self._assumed.keys() & {pod.uid for pod in pods}}
        return place(pods, list(self._copies.nodes), self._copies.around(clock.now()), self._policy)

    def _seen(self, pod: PodInfo) -> PodInfo | None:
        """The pod as it will be once what is under way is done; None: leave it alone for now."""
        if pod.spec.node_name:
            self._assumed.pop(pod.uid, None)
            return pod
        if pod.uid in self._resting:
            return None
        node = self._assumed.get(pod.uid)
        return pod.on(node) if node else pod

    async def _carry_out(self, placement: Placement) -> None:
        for binding in placement.bindings:
            self._assumed[binding.pod.uid] = binding.node
            task = asyncio.get_running_loop().create_task(self._bind(binding))
            self._binding.add(task)
            task.add_done_callback(self._binding.discard)
        deeds = self._deeds
        deeds.remember({each.group.metadata.uid for each in placement.groups})
        await deeds.all(deeds.change, placement.groups)
        await deeds.all(deeds.select, placement.selections)
        await deeds.all(deeds.preempt, placement.preemptions)
        await deeds.all(deeds.refuse, placement.refusals)

    async def _bind(self, binding: Binding) -> None:
        uid = binding.pod.uid
        if not await self._deeds.bind(binding):
            self._assumed.pop(uid, None)
            self._resting.add(uid)
            asyncio.get_running_loop().call_later(REST, self._rested, uid)

    def _rested(self, uid: str) -> None:
        self._resting.discard(uid)
        self._changed.set()
