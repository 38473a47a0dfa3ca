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
from traincrew.embedded.kubelet.lifecycle import fact_changes, steps
from traincrew.embedded.kubelet.lifecycle.facts import ENDED, Facts, Gone, Mounted, Ready, Rejection
from traincrew.embedded.kubelet.network.addresses import AddressesExhausted
from traincrew.embedded.kubelet.pods import adoption, prober, termination_message
from traincrew.embedded.kubelet.pods.container_config import Unfit
from traincrew.embedded.kubelet.pods.device_assignments import Impossible
from traincrew.embedded.kubelet.pods.sandbox_config import Builder
from traincrew.embedded.kubelet.pods.state_directory import Identity, Ledger
from traincrew.embedded.kubelet.pods.tools import Tools
from traincrew.embedded.kubelet.runtime import runtime as sandbox
from traincrew.embedded.kubelet.runtime.streaming import ExecOptions, StreamError, StreamSession
from traincrew.embedded.kubelet.volumes import errors as volumes_errors
from traincrew.model.resources import PODS

log = logging.getLogger(__name__)


class Case(Protocol):
    """The pod in question."""

    object: dict[str, Any]
    facts: Facts
    shim: sandbox.ShimClient | None
    ledger: Ledger
    over: bool

    @property
    def address(self) -> str: ...
    def learn(self, change: Callable[[Facts], Facts]) -> None: ...
    def follow(self, shim: sandbox.ShimClient) -> None: ...


class Deeds:
    def __init__(self, case: Case, tools: Tools) -> None:
        self._case, self._tools = case, tools
        self._builder = Builder(tools, case.ledger)

    async def do(self, step: steps.Step) -> None:
        match step:
            case steps.MountVolumes():
                await self._mount()
            case steps.MakeSandbox():
                await self._make_sandbox()
            case steps.Resolve():
                self.resolve(step.container)
            case steps.Start():
                await self._start(step)
            case steps.RunHook():
                await self._run_hook(step)
            case steps.Stop():
                await self._signal(step.container)
            case steps.Kill():
                await self._kill(step.container)
            case steps.Probe():
                await self._probe(step)
            case steps.ReadLogTail():
                text = termination_message.read(self._builder.log_directory(self._case.object, step.container), step.attempt)
                self._case.learn(lambda facts: fact_changes.log_tail(facts, step.container, text))
            case steps.EndSandbox():
                await self._end_sandbox()
            case steps.Forget():
                await self._forget()

    def failed(self, step: steps.Step, error: Exception) -> None:
        """A step that ended in no way that was foreseen: noted as failed, so that it is not waited for."""
        told = f"{type(error).__name__}: {error}"
        match step:
            case steps.MountVolumes():
                self._case.learn(lambda facts: fact_changes.not_mounted(facts, "FailedMount", told, clock.now()))
            case steps.MakeSandbox():
                self._case.learn(lambda facts: fact_changes.not_made(facts, told, clock.now()))
            case steps.Start():
                self._refused(step.container, "CreateContainerError", told)
            case steps.RunHook():
                self._case.learn(lambda facts: fact_changes.hooked(facts, step.container, step.which, told))
            case steps.Probe():
                probe = self._builder.written(self._case.object, step.container).get(f"{step.kind}Probe") or {}
                self._case.learn(lambda facts: fact_changes.probed(facts, step, probe, None, told))
            case steps.EndSandbox():
                self._case.learn(lambda facts: dataclasses.replace(facts, ending=None))
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
            self._case.learn(lambda facts: fact_changes.not_mounted(facts, reason, message, clock.now()))
        else:
            self._case.learn(lambda facts: dataclasses.replace(facts, volumes=Mounted()))

    async def _make_sandbox(self) -> None:
        case, tools = self._case, self._tools
        try:
            identity = self._identity()
            tools.devices.take(case.object, case.ledger)
            self._builder.write_etc(case.object, identity.address or tools.place.address)
            shim = await tools.template.fork(self._builder.pod(case.object))
            await adoption.plug(shim, identity, tools)
        except Impossible as refusal:
            rejection = Rejection("UnexpectedAdmissionError", str(refusal))
            case.learn(lambda facts: dataclasses.replace(facts, rejection=rejection, sandbox=None))
            return
        except (OSError, sandbox.ContainerRuntimeError, AddressesExhausted, InsufficientDevices) as error:
            message = str(error)
            case.learn(lambda facts: fact_changes.not_made(facts, message, clock.now()))
            return
        case.follow(shim)
        ready = Ready(identity.address or tools.place.address, clock.now())
        case.learn(lambda facts: dataclasses.replace(facts, sandbox=ready))

    def _identity(self) -> Identity:
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
        identity = Identity(
            meta["namespace"], meta["name"], meta["uid"], address, self._tools.machine.boot_id, clock.now().isoformat(),
            host_network=on_host,
        )  # fmt: skip
        case.ledger.open()
        case.ledger.identify(identity)
        return identity

    def resolve(self, name: str) -> None:
        found = self._builder.resolve(self._case.object, name)
        if isinstance(found, Unfit):
            self._case.learn(lambda facts: fact_changes.not_resolved(facts, name, found.reason, found.message, clock.now()))
        else:
            self._case.learn(lambda facts: fact_changes.resolved(facts, name, found))

    async def _start(self, step: steps.Start) -> None:
        case, name = self._case, step.container
        shim = self._shim()
        try:
            wanted = await self._builder.container(case.object, name, step.attempt, case.address)
            started = await shim.start(wanted)
        except (Unfit, ConfigError, sandbox.StartContainerError) as fault:
            self._refused(name, fault.reason, fault.message)
            return
        except (volumes_errors.VolumeError, errors.ApiError) as fault:
            self._refused(name, "CreateContainerError", fault.message)
            return
        case.learn(lambda facts: fact_changes.started(facts, name, started))
        # A short command may have ended before we heard that it had begun.
        if (ended := adoption.exit_of(case.ledger, name, step.attempt)) is not None:
            case.learn(lambda facts: fact_changes.ended(facts, name, ended))

    def _refused(self, name: str, reason: str, message: str) -> None:
        self._case.learn(lambda facts: fact_changes.refused(facts, name, reason, message, clock.now()))

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

    async def _probe(self, step: steps.Probe) -> None:
        found = await self._asked(step.container, step.handler, step.timeout)
        written = self._builder.written(self._case.object, step.container)
        probe = written.get(f"{step.kind}Probe") or {}
        self._case.learn(lambda facts: fact_changes.probed(facts, step, probe, found.good, found.message))

    async def _run_hook(self, step: steps.RunHook) -> None:
        found = await self._asked(step.container, step.handler, step.timeout)
        if step.which == "postStart" and found.good:
            self._case.ledger.mark(step.container, step.attempt, adoption.POST_START, "done")
        error = "" if found.good else found.message or "it failed"
        self._case.learn(lambda facts: fact_changes.hooked(facts, step.container, step.which, error))

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
                await shim.end()
        if identity is not None and identity.address and tools.holder is not None:
            await tools.holder.unplug(identity.address)
        with contextlib.suppress(OSError):
            await asyncio.to_thread(self._builder.release)
        case.shim = None
        case.learn(lambda facts: dataclasses.replace(facts, sandbox=Gone(ENDED, clock.now()), ending=None))

    async def _forget(self) -> None:
        case = self._case
        held = False if case.facts.removed else await self._deleted()
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
