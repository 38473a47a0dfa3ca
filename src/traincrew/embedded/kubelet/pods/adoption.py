"""What an earlier daemon left behind of a pod: its shim, its exit records, its directory."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
from collections.abc import Iterable
from typing import Any, NamedTuple

from traincrew.client import clock
from traincrew.embedded.kubelet.lifecycle.observed import (
    LOST,
    REBOOTED,
    STOPPED,
    Exited,
    ExitStatus,
    ObservedContainer,
    ObservedPod,
    Running,
    SandboxGone,
    SandboxReady,
)
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory, SandboxRecord
from traincrew.embedded.kubelet.pods.tools import Tools
from traincrew.embedded.kubelet.runtime import runtime as sandbox

POST_START = "post-start"
"""Written when a container's postStart hook has ended: it must not run twice."""


class Adopted(NamedTuple):
    facts: ObservedPod
    shim: sandbox.ShimClient | None


async def adopt(pod: dict[str, Any], ledger: PodStateDirectory, tools: Tools, facts: ObservedPod) -> Adopted:
    identity = ledger.identity()
    if identity is None:
        return Adopted(facts, None)
    facts = dataclasses.replace(facts, eviction=ledger.eviction())
    if identity.boot_id != tools.machine.boot_id:
        gone = SandboxGone(REBOOTED, clock.now())
        await bury(ledger, tools)
        return Adopted(dataclasses.replace(_dead(pod, ledger, facts, gone), rebooted=True), None)
    if ledger.ended():
        return Adopted(_dead(pod, ledger, facts, SandboxGone(STOPPED, clock.now())), None)
    try:
        shim = await sandbox.ShimClient.connect(ledger.path)
    except sandbox.ShimGone:
        if not _began(pod, ledger):
            # The daemon died before there was a sandbox: it is made now.
            return Adopted(facts, None)
        await bury(ledger, tools)
        return Adopted(_dead(pod, ledger, facts, SandboxGone(LOST, clock.now())), None)
    await plug(shim, identity, tools)
    ready = SandboxReady(identity.address or tools.place.address, dt.datetime.fromisoformat(identity.made))
    containers = await _living(pod, ledger, shim)
    return Adopted(dataclasses.replace(facts, sandbox=ready, containers=containers, adopted=True), shim)


async def plug(shim: sandbox.ShimClient, identity: SandboxRecord, tools: Tools) -> None:
    """Again is harmless."""
    if tools.holder is not None and not identity.host_network:
        await tools.holder.attach(shim.pid, identity.address)


async def bury(ledger: PodStateDirectory, tools: Tools) -> None:
    """After a shim that could not clear up behind itself."""
    await asyncio.to_thread(sandbox.clean_up_dead_shim, ledger.path)
    identity = ledger.identity()
    if identity is not None and identity.address and tools.holder is not None:
        with contextlib.suppress(OSError):
            await tools.holder.detach(identity.address)


def lost(facts: ObservedPod, ledger: PodStateDirectory, now: dt.datetime) -> ObservedPod:
    """The shim is gone, and everything in it: what left no record was lost."""
    containers = {
        name: dataclasses.replace(known, state=Exited(known.state.attempt, exit_of(ledger, name, known.state.attempt)))
        if isinstance(known.state, Running)
        else known
        for name, known in facts.containers.items()
    }
    return dataclasses.replace(facts, sandbox=SandboxGone(LOST, now), containers=containers)


def exit_of(ledger: PodStateDirectory, container: str, attempt: int) -> ExitStatus | None:
    found = sandbox.read_exit(ledger.path, container, attempt)
    if found is None:
        return None
    return ExitStatus(found.code, found.signal, found.oom, _moment(found.started), _moment(found.finished), found.message)


def _names(pod: dict[str, Any]) -> Iterable[str]:
    spec = pod["spec"]
    for each in (*spec.get("initContainers", ()), *spec["containers"], *spec.get("ephemeralContainers", ())):
        yield each["name"]


def _began(pod: dict[str, Any], ledger: PodStateDirectory) -> bool:
    return (ledger.path / "shim.json").exists() or any(ledger.attempts(name) for name in _names(pod))


def _dead(pod: dict[str, Any], ledger: PodStateDirectory, facts: ObservedPod, gone: SandboxGone) -> ObservedPod:
    containers = {name: _ended(ledger, name, attempts) for name in _names(pod) if (attempts := ledger.attempts(name))}
    return dataclasses.replace(facts, sandbox=gone, containers=containers, adopted=True)


def _ended(ledger: PodStateDirectory, name: str, attempts: list[int]) -> ObservedContainer:
    runs = [Exited(attempt, exit_of(ledger, name, attempt)) for attempt in reversed(attempts)]
    return ObservedContainer(state=runs[0], history=tuple(runs[1:3]))


async def _living(pod: dict[str, Any], ledger: PodStateDirectory, shim: sandbox.ShimClient) -> dict[str, ObservedContainer]:
    states, found = await shim.container_statuses(), {}
    for name in _names(pod):
        state = states.get(name)
        if state is None:
            continue
        before = [each for each in ledger.attempts(name) if each < state.attempt]
        known = _ended(ledger, name, [*before, state.attempt])
        if state.running:
            last = Running(state.attempt, state.started)
            known = ObservedContainer(last, known.history, post_start=ledger.marked(name, state.attempt, POST_START))
        found[name] = known
    return found


def _moment(text: str) -> dt.datetime | None:
    return dt.datetime.fromisoformat(text) if text else None
