"""The shim of one pod: outlives the kubelet, starts the containers, writes their logs, and serves shim.sock."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from traincrew.embedded import process_identity
from traincrew.embedded.kubelet.runtime import errors, protocol, spec
from traincrew.embedded.kubelet.runtime.client_descriptors import ClientDescriptors
from traincrew.embedded.kubelet.runtime.container import process_usage
from traincrew.embedded.kubelet.runtime.container.container_run import ContainerRun
from traincrew.embedded.kubelet.runtime.container.pod_sandbox import PodSandbox
from traincrew.embedded.kubelet.runtime.container.start_handshake import StartHandshake
from traincrew.embedded.kubelet.runtime.container.supervisor import descendants
from traincrew.embedded.kubelet.runtime.shim.listener import Listener, ListenerLimits
from traincrew.embedded.kubelet.runtime.shim.peer import Peer, Reply
from traincrew.embedded.kubelet.runtime.shim.sessions import ExecSessions

SOCKET, STATE_FILE = "shim.sock", "shim.json"
_STOP_SECONDS = 5.0
"""Time for the containers to record their exit before their init processes are killed."""


class Shim:
    def __init__(self, sandbox: PodSandbox, first: socket.socket) -> None:
        self._sandbox, self._loop = sandbox, sandbox.loop
        self._runs: dict[str, ContainerRun] = {}
        self._ended_runs: list[tuple[str, int]] = []
        self._peers: list[Peer] = []
        self._waiting: dict[ContainerRun, list[Callable[[], None]]] = {}
        self._stopping: list[Callable[[], None]] | None = None
        os.chdir(sandbox.pod.directory)
        self._sessions = ExecSessions(sandbox, self._running)
        self._operations: dict[str, Callable[[protocol.Message, Reply, list[int]], None]] = {
            "start": self._start,
            "states": self._states,
            "signal": self._signal,
            "kill": self._kill,
            "usage": self._usage,
            "end": self._stop,
            **self._sessions.operations,
        }
        self._open(first)

    def _open(self, first: socket.socket) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(SOCKET)
        listener = Listener(self._loop, SOCKET, 0o600, self._on_message, ListenerLimits())
        listener.on_connect = self._greet
        directory = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        # This process does not survive a crash of the machine, so the file need not be durable.
        protocol.write_atomically(directory, STATE_FILE, json.dumps(self._state()).encode(), durable=False)
        os.close(directory)
        self._loop.on_child(self._reap)
        self._greet(Peer(self._loop, first, self._on_message, ClientDescriptors(self._loop)))

    def _state(self) -> dict[str, Any]:
        return {
            "protocol": spec.PROTOCOL,
            "pid": os.getpid(),
            "started": process_identity.start_time(),
            "boot": process_identity.boot_id(),
            "isolation": str(self._sandbox.isolation),
            "groups": list(self._sandbox.cgroup.directories()) if self._sandbox.cgroup is not None else [],
            "above": self._sandbox.pod.cgroup.strip("/").count("/"),
        }

    def _greet(self, peer: Peer) -> None:
        self._peers.append(peer)
        peer.on_close.append(lambda: self._peers.remove(peer))
        peer.send({"hello": self._state(), "ended": self._ended_runs})

    def _on_message(self, peer: Peer, message: protocol.Message, fds: list[int]) -> None:
        try:
            handler = self._operations.get(message.get("op", ""))
            if handler is None:
                raise errors.OperationFailed("Unknown", f"unknown operation {message.get('op')!r}")
            handler(message, Reply(peer, message), fds)
        except errors.OperationFailed as failure:
            Reply(peer, message).fail(failure.reason, failure.message)
        except OSError as error:
            Reply(peer, message).fail("Failed", str(error))
        except Exception as error:
            # Without a reply the client would wait for ever. The traceback is in shim.log.
            sys.excepthook(*sys.exc_info())
            Reply(peer, message).fail("Invalid", f"{type(error).__name__}: {error}")
        finally:
            for fd in fds:
                os.close(fd)

    # -- containers

    def _start(self, message: protocol.Message, reply: Reply, _: list[int]) -> None:
        container = spec.container_from_json(message["container"])
        run = self._runs.get(container.name)
        if run is not None and run.container.attempt == container.attempt and run.failure is None:
            self._answer_start(run, reply)
            return
        if run is not None and not run.ended:
            raise errors.OperationFailed(
                "RunContainerError", f"container {container.name} still runs (attempt {run.container.attempt})"
            )
        if self._stopping is not None:
            raise errors.OperationFailed("RunContainerError", "the pod is being stopped")
        run = ContainerRun(self._sandbox, container, self._on_run_changed)
        try:
            run.start()
        except OSError as error:
            raise errors.OperationFailed("CreateContainerError", f"failed to create the container: {error}") from None
        self._runs[container.name] = run
        self._answer_start(run, reply)

    def _answer_start(self, run: ContainerRun, reply: Reply) -> None:
        def reply_when_started() -> None:
            if run.failure is not None:
                reply.fail(*run.failure)
            else:
                reply.send(started=run.started)

        if run.started or (run.failure and run.ended):
            reply_when_started()
        else:
            self._waiting.setdefault(run, []).append(reply_when_started)

    def _on_run_changed(self, run: ContainerRun) -> None:
        for each in self._waiting.pop(run, ()):
            each()
        if run.ended and run.failure is None:
            ended_run = (run.container.name, run.container.attempt)
            self._ended_runs.append(ended_run)
            for peer in list(self._peers):
                peer.send({"ended": [ended_run]})
        self._exit_if_empty()

    def _states(self, _: protocol.Message, reply: Reply, __: list[int]) -> None:
        states = {
            name: {"attempt": run.container.attempt, "running": run.running, "pid": run.handshake.pid, "started": run.started}
            for name, run in self._runs.items()
            if run.failure is None
        }
        reply.send(states=states)

    def _running(self, name: str) -> ContainerRun:
        run = self._runs.get(name)
        if run is None or not run.running:
            raise errors.OperationFailed("NotRunning", f"container {name} is not running")
        return run

    def _signal(self, message: protocol.Message, reply: Reply, _: list[int]) -> None:
        self._running(message["name"]).signal(int(message["number"]))
        reply.send()

    def _kill(self, message: protocol.Message, reply: Reply, _: list[int]) -> None:
        self._running(message["name"]).kill()
        reply.send()

    def _usage(self, _: protocol.Message, reply: Reply, __: list[int]) -> None:
        reply.send(usage={name: self._usage_of(run) for name, run in self._runs.items() if run.running})

    def _usage_of(self, run: ContainerRun) -> dict[str, Any]:
        if run.cgroup is not None and run.cgroup.directories():
            return dataclasses.asdict(run.cgroup.usage())
        return process_usage.sum_usage([run.init, *self._sessions.pids(run)])

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._reaped(*ended)
        if not self._sandbox.own_pid_namespaces:
            self._kill_strays()
        self._exit_if_empty()

    def _reaped(self, pid: int, status: int) -> None:
        """An exception of one process must not leave it or another one unfinished."""
        self._read_handshakes(pid)
        for run in list(self._runs.values()):
            if run.init == pid:
                run.init = 0
                self._loop.call_until_done(lambda run=run: self._sessions.container_ended(run))  # type: ignore[misc]
                self._loop.call_until_done(run.finish)
        self._loop.call_until_done(lambda: self._sessions.reaped(pid, status))

    def _read_handshakes(self, ended: int = 0) -> None:
        """A process that prepares another one sends the other's id before it ends."""
        for handshake in self._handshakes():
            self._loop.call_until_done(handshake.read)
            if handshake.starter == ended:
                handshake.starter = 0

    def _handshakes(self) -> list[StartHandshake]:
        return [*(run.handshake for run in self._runs.values()), *self._sessions.handshakes()]

    def _kill_strays(self) -> None:
        """Without a PID namespace, processes of a killed init become children of the shim. They must not go on."""
        for pid in descendants(os.getpid(), self._known_processes):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _known_processes(self) -> set[int]:
        self._read_handshakes()
        starters = {handshake.starter for handshake in self._handshakes()}
        inits = {run.init for run in self._runs.values()}
        return starters | inits | self._sessions.pids() | {self._sandbox.processes.pause}

    # -- stop

    def _stop(self, _: protocol.Message, reply: Reply, __: list[int]) -> None:
        if self._stopping is None:
            self._stopping = []
            for run in self._runs.values():
                run.kill()
            self._loop.call_later(_STOP_SECONDS, self._kill_inits)
        self._stopping.append(reply.send)
        self._exit_if_empty()

    def _kill_inits(self) -> None:
        for run in self._runs.values():
            if not run.ended:
                run.kill_init()

    def _exit_if_empty(self) -> None:
        if self._stopping is None or not self._sessions.empty or not all(run.ended for run in self._runs.values()):
            return
        if self._sandbox.cgroup is not None and not self._sandbox.cgroup.kill():
            self._loop.call_later(1.0, self._exit_if_empty)
            return
        self._sessions.close()
        if self._sandbox.cgroup is not None:
            self._sandbox.cgroup.remove()
            self._sandbox.cgroup.remove_parents(self._sandbox.pod.cgroup.strip("/").count("/"))
        for name in (SOCKET, STATE_FILE):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
        for each in self._stopping:
            each()
        self._loop.running = False
