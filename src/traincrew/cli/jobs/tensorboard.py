"""Runs TensorBoard in a pod beside a job and forwards a local port to it, until the user interrupts."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import AsyncIterator

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import interrupts, port_forward, query
from traincrew.cli.render import serialization, terminal
from traincrew.inspection.tensorboard import POLL_SECONDS, PORT, TensorBoardPod, TensorBoardState
from traincrew.planner import tensorboard_pod


@dataclasses.dataclass(frozen=True)
class TensorBoardRequest:
    logdir: str = ""
    image: str = ""
    port: int = PORT
    """Port of this machine. 0: any free port."""
    form: str = "text"


async def show(name: str, target_options: cluster_target.TargetOptions, request: TensorBoardRequest) -> int:
    """Return the exit code when the user interrupts or TensorBoard ends."""
    async with query.connected(target_options) as (client, target):
        job, _ = await query.get_job(client, target.namespace, name)
        caught = interrupts.Interrupts()
        with caught.caught():
            try:
                pod = TensorBoardPod(client, job, functools.partial(_images, target))
                await caught.cancel_on_signal(TensorBoardSession(pod, request).run())
            except interrupts.Interrupted:
                return 0
    return 0


def _images(target: cluster_target.ClusterTarget) -> list[str]:
    """Those of this machine that have TensorBoard, if the cluster runs on it."""
    if target.local is None:
        return []
    from traincrew.cli.local_cluster import environments

    return [each.image for each in environments.with_modules(environments.mapped(target.local.data), ["tensorboard"])]


@dataclasses.dataclass(frozen=True)
class TensorBoardSession:
    pod: TensorBoardPod
    request: TensorBoardRequest

    async def run(self) -> None:
        async with self._started():
            await self._wait_until_serving()
            forwarded = port_forward.ForwardedPod(self.pod.client, self.pod.namespace, self.pod.name, _report)
            mapping = port_forward.PortMapping(self.request.port, PORT)
            async with forwarded.listening(mapping) as local:
                self._print_address(local)
                while True:
                    await self._require_active()
                    await asyncio.sleep(1.0)

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncIterator[None]:
        """The pod of this session is deleted at its end, that of another one is not."""
        uid = await self.pod.start(tensorboard_pod.TensorBoard(self.request.logdir, self.request.image))
        if not uid:
            terminal.echo(f"Using the running pod {self.pod.name}. The command that started it deletes it.", err=True)
        try:
            yield
        finally:
            if uid:
                await self.pod.stop(uid)

    async def _wait_until_serving(self) -> None:
        shown = ""
        while (found := await self._require_active()).state != "serving":
            if found.message not in ("", shown):
                terminal.echo(f"pod {self.pod.name}: {found.message}", err=True)
                shown = found.message
            await asyncio.sleep(POLL_SECONDS)

    async def _require_active(self) -> TensorBoardState:
        found = await self.pod.state()
        if found.state == "absent":
            raise errors.NoJob(f"pod {self.pod.name} was deleted")
        if found.state == "ended":
            raise errors.NoJob(found.message)
        return found

    def _print_address(self, local: int) -> None:
        url, reference = f"http://127.0.0.1:{local}/", self.pod.job.reference
        if self.request.form == "text":
            terminal.echo(f"TensorBoard of {reference}: {url}  (Ctrl-C stops it)")
        elif self.request.form == "name":
            terminal.echo(url)
        else:
            serialization.show({"job": reference, "pod": self.pod.name, "url": url}, self.request.form)


def _report(message: str) -> None:
    terminal.echo(f"error: {message}", err=True)
