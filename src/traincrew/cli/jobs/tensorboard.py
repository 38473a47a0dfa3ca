"""Runs TensorBoard in a pod beside a job and forwards a local port to it, until the user interrupts."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator

import msgspec

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import interrupts, port_forward, query
from traincrew.cli.render import serialization, terminal
from traincrew.client import pod_logs, port_forward_websocket
from traincrew.client.remote import RemoteClient
from traincrew.inspection import advice, evidence_query, observed_job, waiting_reasons
from traincrew.model import objects, resources
from traincrew.planner import tensorboard_pod

POLL_SECONDS = 0.3
LAST_LINES = 20
_PROBE = b"GET / HTTP/1.0\r\n\r\n"


@dataclasses.dataclass(frozen=True)
class TensorBoardRequest:
    logdir: str = ""
    image: str = ""
    port: int = tensorboard_pod.PORT
    """Port of this machine. 0: any free port."""
    form: str = "text"


async def show(name: str, target_options: cluster_target.TargetOptions, request: TensorBoardRequest) -> int:
    """Return the exit code when the user interrupts or TensorBoard ends."""
    async with query.connected(target_options) as (client, target):
        job, _ = await query.get_job(client, target.namespace, name)
        caught = interrupts.Interrupts()
        with caught.caught():
            try:
                await caught.cancel_on_signal(TensorBoardSession(client, job, request).run())
            except interrupts.Interrupted:
                return 0
    return 0


@dataclasses.dataclass(frozen=True)
class TensorBoardSession:
    client: RemoteClient
    job: observed_job.ObservedJob
    request: TensorBoardRequest

    async def run(self) -> None:
        async with self._pod() as pod:
            await self._wait_until_serving(pod)
            forwarded = port_forward.ForwardedPod(self.client, self.job.job.namespace, pod, _report)
            mapping = port_forward.PortMapping(self.request.port, tensorboard_pod.PORT)
            async with forwarded.listening(mapping) as local:
                self._print_address(pod, local)
                await self._wait_until_ended(pod)

    @contextlib.asynccontextmanager
    async def _pod(self) -> AsyncIterator[str]:
        """The pod of this session, which is deleted at its end, or the pod of another one."""
        try:
            wanted = tensorboard_pod.TensorBoard(self.request.logdir, self.request.image)
            manifest = tensorboard_pod.build(self.job.kind, self.job.job, wanted)
        except tensorboard_pod.NoLogDirectory as error:
            raise errors.SettingsError(str(error)) from None
        name = tensorboard_pod.name(self.job.job)
        raw = await self._create(manifest)
        if raw is None:
            terminal.echo(
                f"Using the running pod {name}. Another `traincrew tensorboard` has started it and will delete it.", err=True
            )
            yield name
            return
        try:
            yield name
        finally:
            with contextlib.suppress(errors.NotFound, errors.Conflict):
                uid = observed_job.decode_pod(raw).metadata.uid
                await self.client.delete(resources.PODS, self.job.job.namespace, name, uid=uid)

    async def _create(self, manifest: dict[str, object]) -> bytes | None:
        """None: the pod of this job is running already. The ended pod of an earlier session is replaced."""
        while True:
            try:
                return await self.client.create(resources.PODS, self.job.job.namespace, msgspec.json.encode(manifest))
            except errors.AlreadyExists:
                pod = await self._read(tensorboard_pod.name(self.job.job))
            if pod is None:
                continue
            owners = [owner.uid for owner in pod.metadata.owner_references]
            if self.job.job.metadata.uid not in owners and not pod.terminating:
                raise errors.SettingsError(
                    f'pod "{pod.name}" exists and does not belong to {self.job.reference}. Delete it first.'
                )
            if not pod.finished and not pod.terminating:
                return None
            if not pod.terminating:
                await self.client.delete(resources.PODS, pod.metadata.namespace, pod.name, uid=pod.metadata.uid)
            await asyncio.sleep(POLL_SECONDS)

    async def _read(self, name: str) -> objects.Pod | None:
        try:
            return observed_job.decode_pod(await self.client.get(resources.PODS, self.job.job.namespace, name))
        except errors.NotFound:
            return None

    async def _wait_until_serving(self, name: str) -> None:
        shown = ""
        while not await self._serves(name):
            pod = await self._require_active(name)
            reason = waiting_reasons.pod_reason(pod)
            if reason != shown and reason not in ("", "creating containers", "waiting to be scheduled"):
                terminal.echo(f"pod {name}: {reason}", err=True)
                shown = reason
            await asyncio.sleep(POLL_SECONDS)

    async def _serves(self, name: str) -> bool:
        try:
            async with port_forward_websocket.opened(
                self.client, self.job.job.namespace, name, tensorboard_pod.PORT
            ) as connection:
                await connection.write(_PROBE)
                return bool(await connection.read())
        except (errors.ServerError, errors.Rejected, errors.NotFound, errors.Unreachable, ConnectionError):
            return False  # the pod does not run yet, or TensorBoard does not listen yet

    async def _require_active(self, name: str) -> objects.Pod:
        pod = await self._read(name)
        if pod is None or pod.terminating:
            raise errors.NoJob(f"pod {name} was deleted")
        if pod.finished:
            raise errors.NoJob(await self._end_message(pod))
        return pod

    async def _wait_until_ended(self, name: str) -> None:
        while True:
            await self._require_active(name)
            await asyncio.sleep(1.0)

    async def _end_message(self, pod: objects.Pod) -> str:
        log = await self._log(pod)
        if "No module named" in log and "tensorboard" in log:
            image = await evidence_query.image_message(self.client, pod)
            environment = advice.environment(image).replace("PACKAGE", "tensorboard")
            return (
                f"TensorBoard is not installed where the job runs. Install tensorboard in {environment}. Or use --image NAME "
                "with an image that has it."
            )
        lines = "\n".join(f"  | {line}" for line in log.splitlines())
        return f"TensorBoard has ended:\n{lines}" if lines else f"TensorBoard has ended (pod {pod.name}: {pod.status.phase})"

    async def _log(self, pod: objects.Pod) -> str:
        position = pod_logs.LogPosition(pod.metadata.namespace, pod.name, tensorboard_pod.CONTAINER)
        with contextlib.suppress(errors.ApiError):
            wanted = pod_logs.PodLogOptions(tail=LAST_LINES)
            lines = [line async for batch in pod_logs.lines(self.client, position, wanted) for line in batch]
            return "\n".join(line.text.decode(errors="replace") for line in lines)
        return ""

    def _print_address(self, pod: str, local: int) -> None:
        url = f"http://127.0.0.1:{local}/"
        if self.request.form == "text":
            terminal.echo(f"TensorBoard of {self.job.reference}: {url}  (Ctrl-C stops it)")
        elif self.request.form == "name":
            terminal.echo(url)
        else:
            serialization.show({"job": self.job.reference, "pod": pod, "url": url}, self.request.form)


def _report(message: str) -> None:
    terminal.echo(f"error: {message}", err=True)
