"""The kubelet's endpoints of this node: logs, exec, attach and port-forward of the pods that the agent runs."""

from __future__ import annotations

import asyncio
import pathlib
import secrets
from collections.abc import AsyncIterator
from typing import Any, Protocol

import msgspec

from traincrew.client import clock
from traincrew.embedded.kubelet.logs import log_directory, reader
from traincrew.embedded.kubelet.runtime import runtime as sandbox
from traincrew.embedded.kubelet.runtime.streaming import (
    ContainerNotFound,
    ContainerNotStarted,
    ExecFailed,
    ExecOptions,
    LogOptions,
    PodNotFound,
    StreamSession,
)

FORMER_TICKET_COMMAND = "traincrew-leave"
"""The command by which the kubectl of a launcher asks for a way to the shim of its worker: whoever may exec may have it."""
TICKET_SECONDS = 30.0


class ServedPod(Protocol):
    """One pod of the node, as its endpoints see it."""

    @property
    def object(self) -> dict[str, Any]: ...
    @property
    def shim(self) -> sandbox.ShimClient | None: ...
    @property
    def address(self) -> str: ...
    def running(self, container: str) -> bool: ...
    async def news(self, seconds: float) -> None:
        """Returns when something else is known of it than before, or that time is over."""
        ...

    def door(self) -> str:
        """The socket, as the host names it, at which the shim lets in who has a leave."""
        ...


class ServedPods(Protocol):
    def find(self, namespace: str, name: str) -> ServedPod | None: ...
    async def known(self, namespace: str, name: str) -> None:
        """Returns when it is known whether there is such a pod, and what of it runs: right after a start nobody can tell yet."""
        ...

    def all(self) -> list[ServedPod]: ...
    async def connect(self, run: ServedPod, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]: ...


class PodStreams:
    """A `streams.Containers`."""

    def __init__(self, runs: ServedPods, logs: pathlib.Path) -> None:
        self._runs, self._logs = runs, logs

    def pods(self) -> list[dict[str, Any]]:
        return [run.object for run in self._runs.all()]

    async def find(self, namespace: str, pod: str, container: str, uid: str) -> None:
        await self._runs.known(namespace, pod)
        run = self._run(namespace, pod)
        if uid and run.object["metadata"]["uid"] != uid:
            raise PodNotFound(f'pod "{pod}" with that uid does not exist')
        if container and container not in _names(run.object):
            raise ContainerNotFound(f'container "{container}" not found in pod "{pod}"')

    def _run(self, namespace: str, pod: str) -> ServedPod:
        run = self._runs.find(namespace, pod)
        if run is None:
            raise PodNotFound(f'pod "{pod}" does not exist')
        return run

    async def log(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        await self.find(namespace, pod, container, "")
        run = self._run(namespace, pod)
        directory = log_directory.container_directory(self._logs, namespace, pod, run.object["metadata"]["uid"], container)
        attempt = _attempt(log_directory.attempts(directory), options.previous, run.object, container)
        now = clock.now()

        def ended() -> bool:
            latest = log_directory.attempts(directory)[-1:] != [attempt]
            return latest or not run.running(container)

        async for piece in reader.read(directory, attempt, options, now, reader.LogWriter(ended, run.news)):
            yield piece

    def _entered(self, namespace: str, pod: str, container: str) -> sandbox.ShimClient:
        run = self._run(namespace, pod)
        shim = run.shim
        if shim is None or not run.running(container):
            raise ExecFailed(f'container "{container}" of pod "{pod}" does not run')
        return shim

    async def exec(self, namespace: str, pod: str, container: str, command: list[str], io: ExecOptions) -> StreamSession:
        shim = self._entered(namespace, pod, container)
        if command == [FORMER_TICKET_COMMAND]:
            return await self._leave(self._run(namespace, pod), shim, container)
        return await shim.exec(container, tuple(command), io)

    async def _leave(self, run: ServedPod, shim: sandbox.ShimClient, container: str) -> StreamSession:
        secret = secrets.token_urlsafe(32)
        await shim.issue_ticket(container, secret, TICKET_SECONDS)
        return CompletedSession(msgspec.json.encode({"door": run.door(), "secret": secret}))

    async def attach(self, namespace: str, pod: str, container: str, io: ExecOptions) -> StreamSession:
        return await self._entered(namespace, pod, container).attach(container, io)

    async def connect(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await self._runs.connect(self._run(namespace, pod), port)


class CompletedSession:
    """A `streams.Session` that has said everything already."""

    stdin = None
    stderr = None

    def __init__(self, text: bytes) -> None:
        self.stdout = asyncio.StreamReader()
        self.stdout.feed_data(text)
        self.stdout.feed_eof()

    def resize(self, width: int, height: int) -> None:
        pass

    async def wait(self) -> int:
        return 0

    def close(self) -> None:
        pass


def _names(pod: dict[str, Any]) -> set[str]:
    spec = pod["spec"]
    every = (*spec.get("initContainers", ()), *spec["containers"], *spec.get("ephemeralContainers", ()))
    return {each["name"] for each in every}


_WAITING = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}


def _attempt(logged: list[int], previous: bool, pod: dict[str, Any], container: str) -> int:
    """The run of the container that is meant. Between two runs, the last one is the previous one as well."""
    status = _status(pod, container)
    state, name = status.get("state") or {}, pod["metadata"]["name"]
    if previous:
        between = "waiting" in state and "terminated" in (status.get("lastState") or {})
        if len(logged) < (1 if between else 2):
            raise ContainerNotStarted(f'previous terminated container "{container}" in pod "{name}" not found')
        return logged[-1] if between else logged[-2]
    if logged:
        return logged[-1]
    if "terminated" in state:
        raise ContainerNotStarted(f'container "{container}" in pod "{name}" is terminated')
    reason = (state.get("waiting") or {}).get("reason", "ContainerCreating")
    raise ContainerNotStarted(f'container "{container}" in pod "{name}" is waiting to start: {_WAITING.get(reason, reason)}')


def _status(pod: dict[str, Any], container: str) -> dict[str, Any]:
    told = pod.get("status") or {}
    kinds = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    found = (each for kind in kinds for each in told.get(kind) or () if each["name"] == container)
    return next(found, {})
