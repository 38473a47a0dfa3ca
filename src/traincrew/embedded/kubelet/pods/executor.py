"""Carries out the steps of one pod, each safe to be done twice, and notes what came of it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import signal
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from traincrew import errors
from traincrew.client import clock
from traincrew.embedded.kubelet.devices.allocation import InsufficientDevices
from traincrew.embedded.kubelet.environment.errors import ConfigError
from traincrew.embedded.kubelet.lifecycle import steps, transitions
from traincrew.embedded.kubelet.lifecycle.observed import (
    STOPPED,
    ObservedPod,
    Rejection,
    SandboxGone,
    SandboxReady,
    VolumesMounted,
)
from traincrew.embedded.kubelet.network.addresses import AddressesExhausted
from traincrew.embedded.kubelet.pods import adoption, prober, termination_message
from traincrew.embedded.kubelet.pods.container_config import CreateContainerError
from traincrew.embedded.kubelet.pods.device_assignments import DevicesExceedCapacity
from traincrew.embedded.kubelet.pods.sandbox_config import Builder
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory, SandboxRecord
from traincrew.embedded.kubelet.pods.tools import Tools
from traincrew.embedded.kubelet.runtime import runtime as sandbox
from traincrew.embedded.kubelet.runtime.streaming import ExecOptions, StreamError, StreamSession
from traincrew.embedded.kubelet.volumes import errors as volumes_errors
from traincrew.model.resources import PODS

log = logging.getLogger(__name__)


class Case(Protocol):
    """The pod in question."""

    object: dict[str, Any]
    facts: ObservedPod
    shim: sandbox.ShimClient | None
    ledger: PodStateDirectory
    over: bool

    @property
    def address(self) -> str: ...
    def learn(self, change: Callable[[ObservedPod], ObservedPod]) -> None: ...
    def follow(self, shim: sandbox.ShimClient) -> None: ...


class PodExecutor:
    def __init__(self, case: Case, tools: Tools) -> None:
        self._case, self._tools = case, tools
        self._builder = Builder(tools, case.ledger)

    async def do(self, step: steps.Step) -> None:
        match step:
            case steps.MountVolumes():
                await self._mount()
            case steps.CreateSandbox():
                await self._make_sandbox()
            case steps.ResolveImage():
                self.resolve(step.container)
            case steps.StartContainer():
                await self._start(step)
            case steps.RunHook():
                await self._run_hook(step)
            case steps.TerminateContainer():
                await self._signal(step.container)
            case steps.KillContainer():
                await self._kill(step.container)
            case steps.RunProbe():
                await self._probe(step)
            case steps.ReadLogTail():
                text = termination_message.read(self._builder.log_directory(self._case.object, step.container), step.attempt)
                self._case.learn(lambda facts: transitions.log_tail_read(facts, step.container, text))
            case steps.StopSandbox():
                await self._end_sandbox()
            case steps.RemovePod():
                await self._forget()

    def failed(self, step: steps.Step, error: Exception) -> None:
        """A step that ended in no way that was foreseen: noted as failed, so that it is not waited for."""
        told = f"{type(error).__name__}: {error}"
        match step:
            case steps.MountVolumes():
                self._case.learn(lambda facts: transitions.mount_failed(facts, "FailedMount", told, clock.now()))
            case steps.CreateSandbox():
                self._case.learn(lambda facts: transitions.sandbox_failed(facts, told, clock.now()))
            case steps.StartContainer():
                self._refused(step.container, "CreateContainerError", told)
            case steps.RunHook():
                self._case.learn(lambda facts: transitions.hook_finished(facts, step.container, step.hook, told))
            case steps.RunProbe():
                probe = self._builder.written(self._case.object, step.container).get(f"{step.kind}Probe") or {}
                self._case.learn(lambda facts: transitions.probe_finished(facts, step, probe, None, told))
            case steps.StopSandbox():
                self._case.learn(lambda facts: dataclasses.replace(facts, stopping_sandbox_since=None))
            case _:
                return

    async def follow_objects(self) -> None:
        """Of a pod that an earlier daemon mounted: what it shows is watched again, and brought up to date."""
        await self._brought(self._builder.adopt(self._case.object))

    async def refresh(self) -> None:
        await self._brought(self._builder.refresh(self._case.object))

    async def _brought(self, work: Awaitable[object]) -> None:
        try:
            await work
        except (volumes_errors.VolumeError, errors.ApiError) as fault:
            told = {"pod": self._case.object["metadata"]["name"], "why": str(fault)}
            log.info("files of a pod stay as they were", extra=told)
        self._case.learn(lambda facts: facts)

    async def _mount(self) -> None:
        try:
            await self._builder.mount(self._case.object)
        except (volumes_errors.VolumeError, errors.ApiError) as fault:
            reason, message = fault.reason if isinstance(fault, volumes_errors.VolumeError) else "FailedMount", fault.message
            self._case.learn(lambda facts: transitions.mount_failed(facts, reason, message, clock.now()))
        else:
            self._case.learn(lambda facts: dataclasses.replace(facts, volumes=VolumesMounted()))

    async def _make_sandbox(self) -> None:
        case, tools = self._case, self._tools
        try:
            identity = self._identity()
            tools.devices.take(case.object, case.ledger)
            self._builder.write_etc(case.object, identity.address or tools.place.address)
            shim = await tools.template.fork(self._builder.pod(case.object))
            await adoption.plug(shim, identity, tools)
        except DevicesExceedCapacity as refusal:
            rejection = Rejection("UnexpectedAdmissionError", str(refusal))
            case.learn(lambda facts: dataclasses.replace(facts, rejection=rejection, sandbox=None))
            return
        except (OSError, sandbox.ContainerRuntimeError, AddressesExhausted, InsufficientDevices) as error:
            message = str(error)
            case.learn(lambda facts: transitions.sandbox_failed(facts, message, clock.now()))
            return
        case.follow(shim)
        ready = SandboxReady(identity.address or tools.place.address, clock.now())
        case.learn(lambda facts: dataclasses.replace(facts, sandbox=ready))

    def _identity(self) -> SandboxRecord:
        case, meta = self._case, self._case.object["metadata"]
        known = case.ledger.identity()
        if known is not None and known.boot_id == self._tools.machine.boot_id and not case.ledger.ended():
            # Made anew, for the same pod: it keeps its address.
            known = msgspec.structs.replace(known, made=clock.now().isoformat())
            case.ledger.identify(known)
            return known
        pool = self._tools.pool
        on_host = bool(case.object["spec"].get("hostNetwork")) or pool is None
        address = "" if on_host or pool is None else pool.take()
        identity = SandboxRecord(
            meta["namespace"], meta["name"], meta["uid"], address, self._tools.machine.boot_id, clock.now().isoformat(),
            host_network=on_host,
        )  # fmt: skip
        case.ledger.open()
        case.ledger.identify(identity)
        return identity

    def resolve(self, name: str) -> None:
        found = self._builder.resolve(self._case.object, name)
        if isinstance(found, CreateContainerError):
            self._case.learn(lambda facts: transitions.image_pull_failed(facts, name, found.reason, found.message, clock.now()))
        else:
            self._case.learn(lambda facts: transitions.image_resolved(facts, name, found))

    async def _start(self, step: steps.StartContainer) -> None:
        case, name = self._case, step.container
        shim = self._shim()
        try:
            wanted = await self._builder.container(case.object, name, step.attempt, case.address)
            started = await shim.start(wanted)
        except (CreateContainerError, ConfigError, sandbox.StartContainerError) as fault:
            self._refused(name, fault.reason, fault.message)
            return
        except (volumes_errors.VolumeError, errors.ApiError) as fault:
            self._refused(name, "CreateContainerError", fault.message)
            return
        case.learn(lambda facts: transitions.container_started(facts, name, started))
        # A short command may have ended before we heard that it had begun.
        if (ended := adoption.exit_of(case.ledger, name, step.attempt)) is not None:
            case.learn(lambda facts: transitions.container_exited(facts, name, ended))

    def _refused(self, name: str, reason: str, message: str) -> None:
        self._case.learn(lambda facts: transitions.start_failed(facts, name, reason, message, clock.now()))

    def _shim(self) -> sandbox.ShimClient:
        if self._case.shim is None:
            raise sandbox.ShimGone("the pod has no sandbox")
        return self._case.shim

    async def _signal(self, container: str) -> None:
        with contextlib.suppress(sandbox.ContainerRuntimeError):
            await self._shim().signal(container, signal.SIGTERM)

    async def _kill(self, container: str) -> None:
        with contextlib.suppress(sandbox.ContainerRuntimeError):
            await self._shim().kill(container)

    async def _probe(self, step: steps.RunProbe) -> None:
        found = await self._asked(step.container, step.handler, step.timeout)
        written = self._builder.written(self._case.object, step.container)
        probe = written.get(f"{step.kind}Probe") or {}
        self._case.learn(lambda facts: transitions.probe_finished(facts, step, probe, found.good, found.message))

    async def _run_hook(self, step: steps.RunHook) -> None:
        found = await self._asked(step.container, step.handler, step.timeout)
        if step.hook == "postStart" and found.good:
            self._case.ledger.mark(step.container, step.attempt, adoption.POST_START, "done")
        error = "" if found.good else found.message or "it failed"
        self._case.learn(lambda facts: transitions.hook_finished(facts, step.container, step.hook, error))

    async def _asked(self, container: str, handler: steps.Handler, seconds: float | None) -> prober.Outcome:
        written = self._builder.written(self._case.object, container)
        ports = {each["name"]: each["containerPort"] for each in written.get("ports", ()) if each.get("name")}
        try:
            return await prober.run(_Reached(self._case, self._tools), prober.Target(container, ports), handler, seconds)
        except (StreamError, sandbox.ContainerRuntimeError) as error:
            return prober.Outcome(False, str(error))

    async def _end_sandbox(self) -> None:
        case, tools = self._case, self._tools
        identity = case.ledger.identity()
        if identity is not None:
            case.ledger.mark_ended()
        tools.devices.give_back(case.ledger.uid)
        shim = case.shim
        if shim is None:
            with contextlib.suppress(sandbox.ShimGone):
                shim = await sandbox.ShimClient.connect(case.ledger.path)
        if shim is not None:
            with contextlib.suppress(sandbox.ShimGone):
                await shim.stop()
        if identity is not None and identity.address and tools.holder is not None:
            await tools.holder.detach(identity.address)
        with contextlib.suppress(OSError):
            await asyncio.to_thread(self._builder.release)
        case.shim = None
        case.learn(
            lambda facts: dataclasses.replace(facts, sandbox=SandboxGone(STOPPED, clock.now()), stopping_sandbox_since=None)
        )

    async def _forget(self) -> None:
        case = self._case
        held = False if case.facts.object_deleted else await self._deleted()
        identity = case.ledger.identity()
        self._tools.devices.give_back(case.ledger.uid)
        await self._builder.clear(case.object)
        if identity is not None and self._tools.pool is not None:
            self._tools.pool.give_back(identity.address)
        case.over = not held

    async def _deleted(self) -> bool:
        """Whether somebody's finalizer still holds it: then it can be asked for, and its logs with it, until it is let go."""
        meta = self._case.object["metadata"]
        with contextlib.suppress(errors.NotFound, errors.Conflict):
            answer = msgspec.json.decode(
                await self._tools.client.delete(PODS, meta["namespace"], meta["name"], uid=meta["uid"], grace=0)
            )
            if (answer.get("metadata") or {}).get("finalizers"):
                self._case.object = self._tools.learn(answer)
                return True
        return False


class _Reached:
    """A `probes.Pod`."""

    def __init__(self, case: Case, tools: Tools) -> None:
        self._case, self._tools = case, tools

    @property
    def address(self) -> str:
        return self._case.address

    async def exec(self, container: str, command: tuple[str, ...], io: ExecOptions) -> StreamSession:
        if self._case.shim is None:
            raise sandbox.ShimGone("the pod has no sandbox")
        return await self._case.shim.exec(container, command, io)

    async def connect(self, host: str, port: int) -> prober.Connection:
        return await self._tools.connect(host, port)
