"""The keeper of one pod: outlives the daemon, starts its containers, writes their logs, and answers at shim.sock."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from traincrew.embedded.kubelet.runtime import protocol, spec
from traincrew.embedded.kubelet.runtime.container import launch, process_usage
from traincrew.embedded.kubelet.runtime.container.container_run import ContainerRun, PodSandbox
from traincrew.embedded.kubelet.runtime.container.init import descendants
from traincrew.embedded.kubelet.runtime.shim.peer import Listener, Peer, Reply
from traincrew.embedded.kubelet.runtime.shim.sessions import Sessions

SOCKET, STATE_FILE = "shim.sock", "shim.json"
_PATIENCE = 5.0
"""Seconds until processes that were told to end are no longer asked for the record of it."""


class Shim:
    def __init__(self, place: PodSandbox, first: socket.socket) -> None:
        self._place, self._loop = place, place.loop
        self._runs: dict[str, ContainerRun] = {}
        self._past: list[tuple[str, int]] = []
        self._peers: list[Peer] = []
        self._waiting: dict[ContainerRun, list[Callable[[], None]]] = {}
        self._ending: list[Callable[[], None]] | None = None
        os.chdir(place.pod.directory)
        self._guests = Sessions(place, self._running)
        self._operations: dict[str, Callable[[protocol.Message, Reply, list[int]], None]] = {
            "start": self._start,
            "states": self._states,
            "signal": self._signal,
            "kill": self._kill,
            "usage": self._usage,
            "end": self._end,
            **self._guests.operations,
        }
        self._open(first)

    def _open(self, first: socket.socket) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(SOCKET)
        door = Listener(self._loop, SOCKET, 0o600, self._heard)
        door.on_arrival = self._welcome
        directory = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        # Whoever outlives a crash of the machine, it is not this process: no need to wait for the disk.
        protocol.write_atomically(directory, STATE_FILE, json.dumps(self._facts()).encode(), durable=False)
        os.close(directory)
        self._loop.on_child(self._reap)
        self._welcome(Peer(self._loop, first, self._heard))

    def _facts(self) -> dict[str, Any]:
        return {
            "protocol": spec.PROTOCOL,
            "pid": os.getpid(),
            "started": protocol.process_start(),
            "boot": protocol.boot_id(),
            "isolation": str(self._place.isolation),
            "groups": list(self._place.group.directories()) if self._place.group is not None else [],
            "above": self._place.pod.cgroup.strip("/").count("/"),
        }

    def _welcome(self, peer: Peer) -> None:
        self._peers.append(peer)
        peer.on_close.append(lambda: self._peers.remove(peer))
        peer.send({"hello": self._facts(), "ended": self._past})

    def _heard(self, peer: Peer, message: protocol.Message, fds: list[int]) -> None:
        try:
            handler = self._operations.get(message.get("op", ""))
            if handler is None:
                raise launch.Refused("Unknown", f"this shim does not know what {message.get('op')!r} is")
            handler(message, Reply(peer, message), fds)
        except launch.Refused as refusal:
            Reply(peer, message).refuse(refusal.reason, refusal.message)
        except (KeyError, TypeError, ValueError) as error:
            Reply(peer, message).refuse("Invalid", f"{type(error).__name__}: {error}")
        except OSError as error:
            Reply(peer, message).refuse("Failed", str(error))
        finally:
            for fd in fds:
                os.close(fd)

    # -- containers

    def _start(self, message: protocol.Message, answer: Reply, _: list[int]) -> None:
        container = spec.container_from_json(message["container"])
        run = self._runs.get(container.name)
        if run is not None and run.container.attempt == container.attempt and run.refusal is None:
            self._answer_start(run, answer)
            return
        if run is not None and not run.ended:
            raise launch.Refused("RunContainerError", f"{container.name} still runs: attempt {run.container.attempt}")
        if self._ending is not None:
            raise launch.Refused("RunContainerError", "the pod is being ended")
        run = ContainerRun(self._place, container, self._told)
        try:
            run.begin()
        except OSError as error:
            raise launch.Refused("CreateContainerError", f"failed to create the container: {error}") from None
        self._runs[container.name] = run
        self._answer_start(run, answer)

    def _answer_start(self, run: ContainerRun, answer: Reply) -> None:
        def when_known() -> None:
            if run.refusal is not None:
                answer.refuse(*run.refusal)
            else:
                answer.give(started=run.started)

        if run.started or (run.refusal and run.ended):
            when_known()
        else:
            self._waiting.setdefault(run, []).append(when_known)

    def _told(self, run: ContainerRun) -> None:
        for each in self._waiting.pop(run, ()):
            each()
        if run.ended and run.refusal is None:
            past = (run.container.name, run.container.attempt)
            self._past.append(past)
            for peer in list(self._peers):
                peer.send({"ended": [past]})
        self._end_if_empty()

    def _states(self, _: protocol.Message, answer: Reply, __: list[int]) -> None:
        states = {
            name: {"attempt": run.container.attempt, "running": run.running, "pid": run.beginning.pid, "started": run.started}
            for name, run in self._runs.items()
            if run.refusal is None
        }
        answer.give(states=states)

    def _running(self, name: str) -> ContainerRun:
        run = self._runs.get(name)
        if run is None or not run.running:
            raise launch.Refused("NotRunning", f"container {name} does not run")
        return run

    def _signal(self, message: protocol.Message, answer: Reply, _: list[int]) -> None:
        self._running(message["name"]).signal(int(message["number"]))
        answer.give()

    def _kill(self, message: protocol.Message, answer: Reply, _: list[int]) -> None:
        self._running(message["name"]).kill()
        answer.give()

    def _usage(self, _: protocol.Message, answer: Reply, __: list[int]) -> None:
        answer.give(usage={name: self._used(run) for name, run in self._runs.items() if run.running})

    def _used(self, run: ContainerRun) -> dict[str, Any]:
        if run.group is not None and run.group.directories():
            return dataclasses.asdict(run.group.usage())
        return process_usage.sum_usage([run.init, *self._guests.pids(run)])

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                for run in list(self._runs.values()):
                    if run.init == ended[0]:
                        run.init = 0
                        self._guests.leave(run)
                        run.finish()
                self._guests.reaped(*ended)
        if not self._place.alone:
            self._kill_strays()
        self._end_if_empty()

    def _kill_strays(self) -> None:
        """Where no namespace ends with its first process, those it leaves behind when it is killed become children of ours."""
        known = {run.init for run in self._runs.values()} | self._guests.pids() | {self._place.pause}
        for pid in descendants(os.getpid(), known):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    # -- the end

    def _end(self, _: protocol.Message, answer: Reply, __: list[int]) -> None:
        if self._ending is None:
            self._ending = []
            for run in self._runs.values():
                run.kill()
            self._loop.later(_PATIENCE, self._insist)
        self._ending.append(answer.give)
        self._end_if_empty()

    def _insist(self) -> None:
        for run in self._runs.values():
            if not run.ended:
                run.kill_init()

    def _end_if_empty(self) -> None:
        if self._ending is None or not self._guests.empty or not all(run.ended for run in self._runs.values()):
            return
        self._guests.close_door()
        if self._place.group is not None:
            self._place.group.kill()
            self._place.group.remove()
            self._place.group.remove_parents(self._place.pod.cgroup.strip("/").count("/"))
        for name in (SOCKET, STATE_FILE):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
        for each in self._ending:
            each()
        self._loop.running = False
