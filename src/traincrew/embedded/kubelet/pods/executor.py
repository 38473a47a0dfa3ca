"""Executes the steps of one pod and updates its observed state with their results. Every step may be executed twice."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import pathlib
import signal
from collections.abc import Awaitable

from traincrew import errors
from traincrew.client import clock
from traincrew.embedded.kubelet.devices.allocation import InsufficientDevices
from traincrew.embedded.kubelet.envvars.errors import ConfigError
from traincrew.embedded.kubelet.lifecycle import steps, transitions
from traincrew.embedded.kubelet.lifecycle.observed import (
    HOOK_DONE,
    STOPPED,
    Rejection,
    SandboxGone,
    SandboxReady,
    VolumesMounted,
)
from traincrew.embedded.kubelet.logs import cri_format, kept_pod, secret_values
from traincrew.embedded.kubelet.logs.cursor import LogCursor
from traincrew.embedded.kubelet.network.addresses import AddressesExhausted
from traincrew.embedded.kubelet.network.pod_files import HostnameTooLong
from traincrew.embedded.kubelet.pods import adoption
from traincrew.embedded.kubelet.pods.container_config import ContainerConfigBuilder, ContainerLogs, CreateContainerError
from traincrew.embedded.kubelet.pods.device_assignments import DevicesExceedCapacity
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_cache import PodCache
from traincrew.embedded.kubelet.pods.prober import Prober
from traincrew.embedded.kubelet.pods.sandboxes import Sandboxes
from traincrew.embedded.kubelet.pods.volume_mounts import VolumeMounts
from traincrew.embedded.kubelet.runtime import runtime
from traincrew.embedded.kubelet.volumes.errors import VolumeError

log = logging.getLogger(__name__)

TAIL_LINES, TAIL_BYTES = 80, 2048


class PodExecutor:
    def __init__(
        self,
        pod: ManagedPod,
        cache: PodCache,
        sandboxes: Sandboxes,
        volumes: VolumeMounts,
        containers: ContainerConfigBuilder,
        prober: Prober,
        logs: ContainerLogs,
    ) -> None:
        self._pod, self._cache, self._sandboxes, self._volumes = pod, cache, sandboxes, volumes
        self._containers, self._prober, self._logs = containers, prober, logs

    async def execute(self, step: steps.Step) -> None:
        match step:
            case steps.MountVolumes():
                await self._mount_volumes()
            case steps.CreateSandbox():
                await self._create_sandbox()
            case steps.ResolveImage():
                self.resolve_image(step.container)
            case steps.StartContainer():
                await self._start_container(step)
            case steps.RunHook():
                await self._run_hook(step)
            case steps.TerminateContainer():
                with contextlib.suppress(runtime.ContainerRuntimeError):
                    await self._shim().signal(step.container, signal.SIGTERM)
            case steps.KillContainer():
                await self._kill_container(step.container)
            case steps.RunProbe():
                await self._run_probe(step)
            case steps.ReadLogTail():
                text = read_log_tail(self._logs.directory(self._pod.object, step.container), step.attempt)
                self._pod.update(lambda observed: transitions.log_tail_read(observed, step.container, text))
            case steps.StopSandbox():
                await self._stop_sandbox()
            case steps.RemovePod():
                await self._remove_pod()

    def record_failure(self, step: steps.Step, error: Exception) -> None:
        """Ends a step that raised an unexpected exception, so that it is retried."""
        message = f"{type(error).__name__}: {error}"
        match step:
            case steps.MountVolumes():
                self._pod.update(lambda observed: transitions.mount_failed(observed, "FailedMount", message, clock.now()))
            case steps.CreateSandbox():
                self._pod.update(lambda observed: transitions.sandbox_failed(observed, message, clock.now()))
            case steps.StartContainer():
                self._start_failed(step.container, "CreateContainerError", message)
            case steps.RunHook():
                self._pod.update(lambda observed: transitions.hook_finished(observed, step.container, step.hook, message))
            case steps.RunProbe():
                probe = self._pod.container(step.container).get(f"{step.kind}Probe") or {}
                self._pod.update(lambda observed: transitions.probe_finished(observed, step, probe, None, message))
            case steps.StopSandbox():
                self._pod.update(lambda observed: dataclasses.replace(observed, stopping_sandbox_since=None))
            case _:
                return

    async def adopt_volumes(self) -> None:
        """Watches the objects of volumes that a previous daemon mounted, and updates the files."""
        await self._update_files(self._volumes.adopt(self._pod.object))

    async def refresh_volumes(self) -> None:
        await self._update_files(self._volumes.refresh(self._pod.object))

    async def _update_files(self, update: Awaitable[object]) -> None:
        try:
            await update
        except (VolumeError, errors.ApiError) as error:
            log.info("volume files not updated", extra={"pod": self._pod.full_name, "error": str(error)})
        self._pod.update(lambda observed: observed)

    async def _mount_volumes(self) -> None:
        try:
            await self._volumes.mount(self._pod.object)
        except (VolumeError, errors.ApiError) as error:
            reason, message = error.reason if isinstance(error, VolumeError) else "FailedMount", error.message
            self._pod.update(lambda observed: transitions.mount_failed(observed, reason, message, clock.now()))
        else:
            self._pod.update(lambda observed: dataclasses.replace(observed, volumes=VolumesMounted()))

    async def _create_sandbox(self) -> None:
        try:
            created = await self._sandboxes.create(self._pod)
        except DevicesExceedCapacity as error:
            rejection = Rejection("UnexpectedAdmissionError", str(error))
            self._pod.update(lambda observed: dataclasses.replace(observed, rejection=rejection, sandbox=None))
            return
        except (OSError, runtime.ContainerRuntimeError, AddressesExhausted, HostnameTooLong, InsufficientDevices) as error:
            message = str(error)
            self._pod.update(lambda observed: transitions.sandbox_failed(observed, message, clock.now()))
            return
        self._pod.shim = created.shim
        ready = SandboxReady(created.address, clock.now())
        self._pod.update(lambda observed: dataclasses.replace(observed, sandbox=ready))

    def resolve_image(self, container: str) -> None:
        try:
            image = self._containers.resolve_image(container)
        except CreateContainerError as error:
            reason, message = error.reason, error.message
            self._pod.update(lambda observed: transitions.image_pull_failed(observed, container, reason, message, clock.now()))
        else:
            self._pod.update(lambda observed: transitions.image_resolved(observed, container, image))

    async def _start_container(self, step: steps.StartContainer) -> None:
        name, shim = step.container, self._shim()
        with contextlib.suppress(OSError):  # such as a full disk: the pod runs without it
            kept_pod.create(self._logs.of_pod(self._pod.object), self._pod.object)
        try:
            started = await shim.start(await self._containers.build(name, step.attempt))
        except runtime.StartContainerError as error:
            self._start_failed(name, error.reason, error.message + self._containers.start_hint(name))
            return
        except (CreateContainerError, ConfigError) as error:
            self._start_failed(name, error.reason, error.message)
            return
        except (VolumeError, errors.ApiError) as error:
            self._start_failed(name, "CreateContainerError", error.message)
            return
        self._pod.update(lambda observed: transitions.container_started(observed, name, started))
        # A short command may have exited before its start was known here.
        if (status := adoption.read_exit_status(self._pod.directory, name, step.attempt)) is not None:
            self._pod.update(lambda observed: transitions.container_exited(observed, name, status))

    def _start_failed(self, name: str, reason: str, message: str) -> None:
        self._pod.update(lambda observed: transitions.start_failed(observed, name, reason, message, clock.now()))

    def _shim(self) -> runtime.ShimClient:
        if self._pod.shim is None:
            raise runtime.ShimGone("the pod has no sandbox")
        return self._pod.shim

    async def _kill_container(self, container: str) -> None:
        try:
            await self._shim().kill(container)
        except runtime.ShimNotResponding:
            self._shim().close()  # the pod worker connects again, or kills the pod without its shim
        except runtime.ContainerRuntimeError:
            return

    async def _run_probe(self, step: steps.RunProbe) -> None:
        result = await self._prober.run(step.container, step.handler, step.timeout)
        probe = self._pod.container(step.container).get(f"{step.kind}Probe") or {}
        message = result.warning if result.success else result.message
        self._pod.update(lambda observed: transitions.probe_finished(observed, step, probe, result.success, message))

    async def _run_hook(self, step: steps.RunHook) -> None:
        result = await self._prober.run_hook(step.container, step.handler, step.timeout)
        if step.hook == "postStart" and result.success:
            self._pod.directory.mark_post_start(step.container, step.attempt, HOOK_DONE)
        error = "" if result.success else result.message or "the hook failed"
        self._pod.update(lambda observed: transitions.hook_finished(observed, step.container, step.hook, error))

    async def _stop_sandbox(self) -> None:
        await self._sandboxes.stop(self._pod.directory, self._pod.shim)
        try:
            await self._volumes.release_memory()
        except OSError as error:  # the removal of the pod tries again
            log.warning("memory of volumes not released", extra={"pod": self._pod.full_name, "error": str(error)})
        self._pod.shim = None
        gone = SandboxGone(STOPPED, clock.now())
        self._pod.update(lambda observed: dataclasses.replace(observed, sandbox=gone, stopping_sandbox_since=None))

    async def _remove_pod(self) -> None:
        """A pod that a finalizer keeps stays known, so that its logs can be read until its object is gone."""
        if self._pod.observed.object_deleted or not self._pod.object["metadata"].get("finalizers"):
            await self._replace_secrets()  # before the object is gone: a daemon that is killed here does it again
        kept = None if self._pod.observed.object_deleted else await self._cache.delete(self._pod.object)
        if kept is not None:
            self._pod.object = kept
        else:
            await self._replace_secrets()
        await self._volumes.unmount(self._pod.object)
        await self._sandboxes.remove(self._pod.directory)
        self._pod.removed = kept is None

    async def _replace_secrets(self) -> None:
        replace, directory = secret_values.replace, self._logs.of_pod(self._pod.object)
        try:
            await asyncio.get_running_loop().run_in_executor(secret_values.THREAD, replace, directory, self._pod.object)
        except OSError as error:
            log.error("secrets in logs not replaced", extra={"pod": self._pod.full_name, "error": str(error)})


def read_log_tail(directory: pathlib.Path, attempt: int) -> str:
    """The end of the log of a container, for its termination message."""
    cursor = LogCursor(directory, attempt)
    try:
        cursor.to_tail(TAIL_LINES)
        formatter, text = cri_format.LogFormatter(), b""
        while lines := cursor.lines():
            text += formatter.feed(lines)
    except FileNotFoundError:
        return ""
    finally:
        cursor.close()
    return text[-TAIL_BYTES:].decode(errors="replace")
