"""The pod worker: syncs one pod. It decides the next steps, executes them and reports the status."""

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
from traincrew.embedded.kubelet.lifecycle.observed import Eviction, Rejection, Running, SandboxGone
from traincrew.embedded.kubelet.lifecycle.steps import ReadLogTail, RemovePod, ResolveImage, Step
from traincrew.embedded.kubelet.pods import adoption
from traincrew.embedded.kubelet.pods.event_recorder import PodEventRecorder
from traincrew.embedded.kubelet.pods.executor import PodExecutor
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.sandboxes import Sandboxes
from traincrew.embedded.kubelet.pods.status_manager import StatusManager
from traincrew.embedded.kubelet.runtime import runtime
from traincrew.embedded.kubelet.volumes import projected_files

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
"""Seconds before the next sync or step after an unexpected exception."""
IDLE_POLL_SECONDS = 0.05

Admit = Callable[[dict[str, Any]], Rejection | None]
"""Decides whether a pod with this spec may have a sandbox. None: it may."""
UnmarkedStep = ResolveImage | ReadLogTail | RemovePod
"""Steps that leave no mark in the observed state."""


class PodWorker:
    def __init__(
        self,
        pod: ManagedPod,
        executor: PodExecutor,
        status: StatusManager,
        recorder: PodEventRecorder,
        sandboxes: Sandboxes,
        admit: Admit,
    ) -> None:
        self.pod = pod
        self.adopted = asyncio.Event()
        """Set when the state of a previous daemon's pod is restored."""
        self._executor, self._status, self._recorder, self._sandboxes = executor, status, recorder, sandboxes
        self._admit = admit
        self._tasks: set[asyncio.Task[None]] = set()
        self._unmarked: set[UnmarkedStep] = set()
        """Unmarked steps in progress."""
        self._followed: runtime.ShimClient | None = None
        self._shown = projected_files.shown_fields(pod.object)
        """Fields of the pod that its volumes show."""
        self._synced = asyncio.Event()
        """Set after each sync."""

    @property
    def is_busy(self) -> bool:
        """Whether the pod has a sandbox, or a status that is not written."""
        sandbox = self.pod.observed.sandbox
        has_sandbox = sandbox is not None and not isinstance(sandbox, SandboxGone)
        return not self.pod.removed and (has_sandbox or not self._status.is_settled)

    async def wait_until_idle(self) -> None:
        while self.is_busy:
            await self._wait_until(clock.now() + dt.timedelta(seconds=IDLE_POLL_SECONDS))
            await asyncio.sleep(0)

    def object_deleted(self) -> None:
        """The API server has deleted the object."""
        self.pod.update(lambda observed: dataclasses.replace(observed, object_deleted=True))

    def evict(self, eviction: Eviction) -> None:
        with contextlib.suppress(FileNotFoundError):  # the directory is being removed
            if self.pod.directory.sandbox() is not None:
                self.pod.directory.write_eviction(eviction)
        self.pod.update(lambda observed: dataclasses.replace(observed, eviction=eviction))

    def _show_changed_fields(self) -> None:
        shown = projected_files.shown_fields(self.pod.object)
        if shown != self._shown:
            self._shown = shown
            self.refresh_volumes()

    def refresh_volumes(self) -> None:
        self._spawn(self._executor.refresh_volumes())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def run(self) -> None:
        """Until the pod is removed from the API server and from this node."""
        try:
            await self._adopt()
            async with asyncio.TaskGroup() as group:
                status = group.create_task(self._status.run())
                await self._sync_until_removed()
                status.cancel()
        finally:
            self.adopted.set()
            for task in self._tasks:
                task.cancel()
            if self.pod.shim is not None:
                self.pod.shim.close()

    async def _adopt(self) -> None:
        while True:
            try:
                self.pod.shim = await adoption.adopt(self.pod, self._sandboxes)
                break
            except (OSError, runtime.ContainerRuntimeError) as error:
                log.error("pod not adopted", extra={"pod": self.pod.full_name, "error": str(error)})
                if self._must_end:
                    await self._kill_without_shim()
                else:
                    await asyncio.sleep(RETRY_SECONDS)
        if self.pod.shim is not None:
            self._spawn(self._executor.adopt_volumes())
        elif self.pod.observed.sandbox is None:
            self.pod.observed = dataclasses.replace(self.pod.observed, rejection=self._admit(self.pod.object["spec"]))
        self.adopted.set()

    async def _sync_until_removed(self) -> None:
        while not self.pod.removed:
            self.pod.changed.clear()
            try:
                sync_at = self._sync()
            except Exception:
                # One pod must not end the sync loop.
                log.exception("pod sync failed", extra={"pod": self.pod.full_name})
                sync_at = clock.now() + dt.timedelta(seconds=RETRY_SECONDS)
            self._synced.set()
            await self._wait_until(sync_at)

    def _sync(self) -> dt.datetime | None:
        now = clock.now()
        self._follow_shim()
        self._show_changed_fields()
        if isinstance(self.pod.observed.sandbox, SandboxGone):
            self._sandboxes.release_devices(self.pod.uid)
        result = next_steps(self.pod.object, self.pod.observed, now)
        for event in result.events:
            self._recorder.event(self.pod.object, event, now)
        self.pod.observed = dataclasses.replace(self.pod.observed, recorded_events=result.event_keys, last_status=result.status)
        if self.pod.observed.object_deleted:
            self._status.abandon()
        else:
            self._status.set_status(result.status, transient=result.status.get("phase") == "Pending")
        for step in result.steps:
            self._start(step, now)
        return result.sync_at

    def _start(self, step: Step, now: dt.datetime) -> None:
        if isinstance(step, ResolveImage) and self._resolve_now(step):
            return
        if isinstance(step, UnmarkedStep):
            if step in self._unmarked:
                return
            self._unmarked.add(step)
        self.pod.observed = transitions.step_started(self.pod.observed, step, now)
        self._spawn(self._execute(step))

    def _resolve_now(self, step: ResolveImage) -> bool:
        """Without a task: the step waits for nothing, and the next step follows in the same turn."""
        with contextlib.suppress(Exception):  # a separate task logs the exception and retries
            self._executor.resolve_image(step.container)
            return True
        return False

    async def _execute(self, step: Step) -> None:
        try:
            if isinstance(step, RemovePod):
                await self._status.wait_until_settled()
            await self._executor.execute(step)
        except Exception as error:
            log.exception("pod step failed", extra={"pod": self.pod.full_name, "step": type(step).__name__})
            await asyncio.sleep(RETRY_SECONDS)
            self._executor.record_failure(step, error)
        finally:
            # Probes and hooks carry a handler, a dict, and cannot be hashed.
            if isinstance(step, UnmarkedStep):
                self._unmarked.discard(step)
            self.pod.changed.set()

    async def _wait_until(self, moment: dt.datetime | None) -> None:
        seconds = None if moment is None else max(0.0, (moment - clock.now()).total_seconds())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.pod.changed.wait()

    def _follow_shim(self) -> None:
        if self.pod.shim is not None and self.pod.shim is not self._followed:
            self._followed = self.pod.shim
            self._spawn(self._watch_exits(self.pod.shim))

    async def _watch_exits(self, shim: runtime.ShimClient) -> None:
        async for container, attempt in shim.exits():
            await self._sandboxes.losses.reported()
            self._container_exited(container, attempt)
        if not self._is_stopping:
            with self._sandboxes.losses.pending():
                await self._examine_loss()

    async def _examine_loss(self) -> None:
        """After the connection to the shim was lost: until it is restored, or the loss of the sandbox is reported."""
        while not self._is_stopping:
            try:
                if await self._reconnect():
                    break
            except (OSError, runtime.ContainerRuntimeError) as error:
                # While something of the pod lives, its status does not change: a job would start a second pod beside it.
                log.error("connection to shim lost", extra={"pod": self.pod.full_name, "error": str(error)})
                if self._must_end:
                    await self._kill_without_shim()
                else:
                    await asyncio.sleep(RETRY_SECONDS)
        self._synced.clear()
        self.pod.changed.set()
        await self._synced.wait()
        await self._status.wait_until_settled()

    @property
    def _is_stopping(self) -> bool:
        return isinstance(self.pod.observed.sandbox, SandboxGone) or self.pod.observed.stopping_sandbox_since is not None

    @property
    def _must_end(self) -> bool:
        """Whether the kubelet has decided to kill a container, or, before the pod is adopted, to terminate the pod."""
        observed = self.pod.observed
        if self.adopted.is_set():
            return any(each.stopping is not None and each.stopping.kill_sent_at for each in observed.containers.values())
        deleted = observed.object_deleted or "deletionTimestamp" in self.pod.object["metadata"]
        return deleted or observed.eviction is not None

    async def _kill_without_shim(self) -> None:
        try:
            await self._sandboxes.clean_up_lost(self.pod.directory)
        except OSError as error:
            log.error("pod not killed", extra={"pod": self.pod.full_name, "error": str(error)})
            await asyncio.sleep(RETRY_SECONDS)

    async def _reconnect(self) -> bool:
        """After the connection to the shim was lost. Returns whether it is restored, or nothing of the pod is left.

        What is left is cleaned up before the loss is known: a new sandbox uses the same paths.
        """
        record = self.pod.directory.sandbox()
        if record is None:
            return True
        try:
            shim = await self._sandboxes.reconnect(self.pod.directory, record)
        except runtime.ShimGone:
            if not self._is_stopping:
                self.pod.update(lambda observed: adoption.sandbox_lost(observed, self.pod.directory))
            return True
        if self._is_stopping:
            shim.close()
        else:
            log.warning("connection to shim restored", extra={"pod": self.pod.full_name})
            self.pod.shim = shim
            self.pod.changed.set()  # the next sync follows the new connection
        return True

    def _container_exited(self, container: str, attempt: int) -> None:
        state = self.pod.observed.container(container).state
        if isinstance(state, Running) and state.attempt == attempt:
            status = adoption.read_exit_status(self.pod.directory, container, attempt)
            self.pod.update(lambda observed: transitions.container_exited(observed, container, status))
