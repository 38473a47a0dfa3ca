"""TensorBoard in a pod beside a job: started, watched until it serves, and stopped. The CLI and the console use it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from traincrew import errors
from traincrew.client import pod_logs, port_forward_websocket
from traincrew.client.remote import RemoteClient
from traincrew.inspection import advice, evidence_query, observed_job, package_installation, pod_waiting_reasons
from traincrew.model import objects, resources
from traincrew.planner import tensorboard_pod

POLL_SECONDS = 0.3
LAST_LINES = 20
PORT = tensorboard_pod.PORT
_PROBE = b"GET / HTTP/1.0\r\n\r\n"
_UNIMPORTANT = ("", "creating containers", "waiting to be scheduled")


class TensorBoardState(NamedTuple):
    state: Literal["absent", "starting", "serving", "ended"]
    message: str = ""
    """Why it does not serve, and what to do."""
    uid: str = ""
    """Of the pod."""


@dataclasses.dataclass(frozen=True)
class TensorBoardPod:
    client: RemoteClient
    job: observed_job.ObservedJob
    images: Callable[[], Sequence[str]] = tuple
    """Finds images of this machine that have TensorBoard."""

    @property
    def namespace(self) -> str:
        return self.job.job.namespace

    @property
    def name(self) -> str:
        return tensorboard_pod.name(self.job.job)

    async def start(self, wanted: tensorboard_pod.TensorBoard) -> str:
        """Return the UID of the new pod. Empty: the pod runs already. The ended pod of an earlier start is replaced."""
        try:
            manifest = tensorboard_pod.build(self.job.kind, self.job.job, wanted)
        except tensorboard_pod.NoLogDirectory as error:
            raise errors.SettingsError(str(error)) from None
        while True:
            try:
                created = await self.client.create(resources.PODS, self.namespace, msgspec.json.encode(manifest))
                return observed_job.decode_pod(created).metadata.uid
            except errors.AlreadyExists:
                pod = await self._read()
            if pod is None:
                continue
            self._require_own(pod)
            if not pod.finished and not pod.terminating:
                return ""
            if not pod.terminating:
                await self.stop(pod.metadata.uid)
            await asyncio.sleep(POLL_SECONDS)

    def _require_own(self, pod: objects.Pod) -> None:
        owners = [owner.uid for owner in pod.metadata.owner_references]
        if self.job.job.metadata.uid not in owners and not pod.terminating:
            raise errors.UnsuitableState(f'pod "{pod.name}" exists and does not belong to {self.job.reference}. Delete it first.')

    async def stop(self, uid: str) -> None:
        """Delete the pod, if it is the one with this UID."""
        with contextlib.suppress(errors.NotFound, errors.Conflict):
            await self.client.delete(resources.PODS, self.namespace, self.name, uid=uid)

    async def state(self) -> TensorBoardState:
        pod = await self._read()
        if pod is None or pod.terminating:
            return TensorBoardState("absent")
        self._require_own(pod)
        uid = pod.metadata.uid
        if pod.finished:
            return TensorBoardState("ended", await self._end_message(pod), uid)
        if await self._serves():
            return TensorBoardState("serving", uid=uid)
        reason = pod_waiting_reasons.pod_reason(pod)
        return TensorBoardState("starting", "" if reason in _UNIMPORTANT else reason, uid)

    async def _read(self) -> objects.Pod | None:
        try:
            return observed_job.decode_pod(await self.client.get(resources.PODS, self.namespace, self.name))
        except errors.NotFound:
            return None

    async def _serves(self) -> bool:
        try:
            async with port_forward_websocket.opened(self.client, self.namespace, self.name, PORT) as connection:
                await connection.write(_PROBE)
                return bool(await connection.read())
        except (errors.ServerError, errors.Rejected, errors.NotFound, errors.Unreachable, ConnectionError):
            return False  # the pod does not run yet, or TensorBoard does not listen yet

    async def _end_message(self, pod: objects.Pod) -> str:
        log = await self._log(pod)
        if "No module named" in log and "tensorboard" in log:
            return _missing(await evidence_query.image_message(self.client, pod), self.images())
        lines = "\n".join(f"  | {line}" for line in log.splitlines())
        return f"TensorBoard has ended:\n{lines}" if lines else f"TensorBoard has ended (pod {pod.name}: {pod.status.phase})"

    async def _log(self, pod: objects.Pod) -> str:
        position = pod_logs.ContainerReference(pod.metadata.namespace, pod.name, tensorboard_pod.CONTAINER)
        with contextlib.suppress(errors.ApiError):
            wanted = pod_logs.PodLogOptions(tail=LAST_LINES)
            lines = [line async for batch in pod_logs.lines(self.client, position, wanted) for line in batch]
            return "\n".join(line.text.decode(errors="replace") for line in lines)
        return ""


def _missing(image_message: str, images: Sequence[str]) -> str:
    install = package_installation.command(advice.directory(image_message))
    environment = advice.environment(advice.RuntimeEnvironment(image_message, install=install)).replace("PACKAGE", "tensorboard")
    other = f"Use `--image {images[0]}`, which has it." if images else "Or use --image NAME with an image that has it."
    own = f"{'Or install' if images else 'Install'} tensorboard in {environment}."
    return f"TensorBoard is not installed where the job runs. {f'{other} {own}' if images else f'{own} {other}'}"
