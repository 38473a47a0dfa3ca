"""Logs, exec, attach and port-forward of the pods of this kubelet."""

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

TICKET_COMMANDS = ("traincrew-exec-ticket", "traincrew-leave")
"""The commands with which the kubectl in a launcher requests an exec ticket. Every client with access to exec may request one.

The second command is that of earlier versions, whose pods may still run. Their kubectl expects the key `door` in the reply."""
TICKET_SECONDS = 30.0


class ServedPod(Protocol):
    """A pod of this node, as the server needs it."""

    @property
    def object(self) -> dict[str, Any]: ...
    @property
    def shim(self) -> sandbox.ShimClient | None: ...
    @property
    def address(self) -> str: ...
    def is_running(self, container: str) -> bool: ...
    async def wait_for_update(self, seconds: float) -> None:
        """Returns when the pod's state has changed, or after that time."""
        ...

    def exec_socket(self) -> str:
        """The path of the shim's exec socket on the host."""
        ...


class ServedPods(Protocol):
    def find(self, namespace: str, name: str) -> ServedPod | None: ...
    async def wait_until_known(self, namespace: str, name: str) -> None:
        """Waits until the pods of an earlier kubelet are adopted, so that the pod's state is known."""
        ...

    def all(self) -> list[ServedPod]: ...
    async def connect(self, served: ServedPod, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]: ...
    async def dial(self, served: ServedPod, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]: ...


class PodStreams:
    """Implements `streaming.StreamingRuntime`."""

    def __init__(self, pods: ServedPods, logs: pathlib.Path) -> None:
        self._pods, self._logs = pods, logs

    def pods(self) -> list[dict[str, Any]]:
        return [served.object for served in self._pods.all()]

    async def find(self, namespace: str, pod: str, container: str, uid: str) -> None:
        await self._pods.wait_until_known(namespace, pod)
        served = self._find(namespace, pod)
        if uid and served.object["metadata"]["uid"] != uid:
            raise PodNotFound(f'pod "{pod}" with that uid does not exist')
        if container and container not in _names(served.object):
            raise ContainerNotFound(f'container "{container}" not found in pod "{pod}"')

    def _find(self, namespace: str, pod: str) -> ServedPod:
        served = self._pods.find(namespace, pod)
        if served is None:
            raise PodNotFound(f'pod "{pod}" does not exist')
        return served

    async def log(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        await self.find(namespace, pod, container, "")
        served = self._find(namespace, pod)
        directory = log_directory.container_directory(self._logs, namespace, pod, served.object["metadata"]["uid"], container)
        attempt = _attempt(log_directory.attempts(directory), options.previous, served.object, container)
        now = clock.now()

        def ended() -> bool:
            latest = log_directory.attempts(directory)[-1:] != [attempt]
            return latest or not served.is_running(container)

        async for piece in reader.read(directory, attempt, options, now, reader.FollowedContainer(ended, served.wait_for_update)):
            yield piece

    def _running_shim(self, namespace: str, pod: str, container: str) -> sandbox.ShimClient:
        served = self._find(namespace, pod)
        shim = served.shim
        if shim is None or not served.is_running(container):
            raise ExecFailed(f'container "{container}" of pod "{pod}" is not running')
        return shim

    async def exec(self, namespace: str, pod: str, container: str, command: list[str], io: ExecOptions) -> StreamSession:
        shim = self._running_shim(namespace, pod, container)
        if len(command) == 1 and command[0] in TICKET_COMMANDS:
            return await self._issue_ticket(self._find(namespace, pod), shim, container)
        return await shim.exec(container, tuple(command), io)

    async def _issue_ticket(self, served: ServedPod, shim: sandbox.ShimClient, container: str) -> StreamSession:
        secret = secrets.token_urlsafe(32)
        await shim.issue_ticket(container, secret, TICKET_SECONDS)
        return CompletedSession(
            msgspec.json.encode({"socket": served.exec_socket(), "door": served.exec_socket(), "secret": secret})
        )

    async def attach(self, namespace: str, pod: str, container: str, io: ExecOptions) -> StreamSession:
        return await self._running_shim(namespace, pod, container).attach(container, io)

    async def connect(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await self._pods.connect(self._find(namespace, pod), port)

    async def dial(self, namespace: str, pod: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await self._pods.dial(self._find(namespace, pod), port)


class CompletedSession:
    """A `streaming.StreamSession` of a command that has ended, with its output."""

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
    """The attempt whose log was requested. Between two attempts, the last one is also the previous one."""
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
    status = pod.get("status") or {}
    kinds = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    matching = (each for kind in kinds for each in status.get(kind) or () if each["name"] == container)
    return next(matching, {})
