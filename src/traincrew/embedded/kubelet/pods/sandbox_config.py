"""Puts together what a pod's shim is told: environment, volumes, variables, limits."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
from typing import Any

from traincrew.client import clock
from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.environment import variables
from traincrew.embedded.kubelet.environment.process_config import build_process_config
from traincrew.embedded.kubelet.environment.variables import EnvironmentSources
from traincrew.embedded.kubelet.images import Environment, EnvironmentNotFound, tool_role
from traincrew.embedded.kubelet.lifecycle import observed, resource_limits
from traincrew.embedded.kubelet.lifecycle.steps import PodEvent
from traincrew.embedded.kubelet.logs import log_directory as logs_log_directory
from traincrew.embedded.kubelet.network import pod_files
from traincrew.embedded.kubelet.objects import environment_sources
from traincrew.embedded.kubelet.pods import container_config, unisolated_containers
from traincrew.embedded.kubelet.pods.container_config import CreateContainerError
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.pods.tools import Tools
from traincrew.embedded.kubelet.runtime import spec

NOT_GIVEN = "FSGroupNotApplied"
"""The reason of an event: the pod runs, but files of a volume do not belong to its group."""
SHM_SHARE = 2
"""The shared memory of a pod may take one half of the machine's."""
TOOLS_CORES = 1.0


class Builder:
    def __init__(self, tools: Tools, ledger: PodStateDirectory) -> None:
        self._tools, self._ledger = tools, ledger
        self._mounted: volumes.MountedVolumes | None = None
        self._adopted = False
        self._alone = asyncio.Lock()
        """One writes the pod's files at a time: what was read earlier must not be written later, and a change that comes while
        they are made is not for nobody."""
        self._environments: dict[str, Environment] = {}

    def written(self, pod: dict[str, Any], name: str) -> dict[str, Any]:
        """The container as the pod has it."""
        spec = pod["spec"]
        every = (*spec.get("initContainers", ()), *spec["containers"], *spec.get("ephemeralContainers", ()))
        found: dict[str, Any] = next(each for each in every if each["name"] == name)
        return found

    def log_directory(self, pod: dict[str, Any], container: str) -> pathlib.Path:
        meta = pod["metadata"]
        return logs_log_directory.container_directory(self._tools.logs, meta["namespace"], meta["name"], meta["uid"], container)

    async def mount(self, pod: dict[str, Any]) -> volumes.MountedVolumes:
        """Raises Unmade or ApiError."""
        async with self._alone:
            return await self._mount(pod)

    async def _mount(self, pod: dict[str, Any]) -> volumes.MountedVolumes:
        self._ledger.open()
        self._mounted = await volumes.mount(pod, self._tools.objects, self._place())
        for note in self._mounted.notes:
            event = PodEvent(f"{NOT_GIVEN}/{note}", "Warning", NOT_GIVEN, note)
            self._tools.recorder.event(pod, event, clock.now())
        return self._mounted

    async def adopt(self, pod: dict[str, Any]) -> None:
        """Its volumes are an earlier daemon's. Raises like `mount`; then it is tried again with whatever changes next."""
        self._adopted = True
        await self.mount(pod)

    async def refresh(self, pod: dict[str, Any]) -> None:
        """What config maps, secrets and tokens show now, into the pod's files."""
        async with self._alone:
            if self._mounted is not None:
                await volumes.refresh(pod, self._tools.objects, self._place())
            elif self._adopted:
                await self._mount(pod)

    def _place(self) -> volumes.VolumeHost:
        tools = self._tools
        userns, single = (tools.holder.pid, tools.holder.ids) if tools.holder else (0, "")
        return volumes.VolumeHost(self._ledger.path, tools.data, tools.isolation, userns, single, tools.machine.allocatable)

    def pod(self, pod: dict[str, Any]) -> spec.Pod:
        lodging = container_config.SandboxResources(
            directory=str(self._ledger.path), masked=(str(self._tools.data),),
            shm_bytes=self._tools.machine.memory // SHM_SHARE, limits=resource_limits.of_pod(pod, self._tools.options.pod_pids),
        )  # fmt: skip
        return container_config.pod(pod, self._tools.options.domain, lodging)

    def write_etc(self, pod: dict[str, Any], address: str) -> None:
        domain, resolving = self._tools.options.domain, pod_files.ResolvConf.parse(_host_file("/etc/resolv.conf"))
        gateway = self._tools.holder.gateway if self._tools.holder is not None else ""
        files = {
            "hosts": pod_files.hosts(pod, address, domain, _host_file("/etc/hosts")),
            "resolv.conf": pod_files.resolv_conf(pod, gateway, domain, resolving),
            "hostname": f"{pod_files.hostname(pod)}\n",
        }
        self._ledger.etc(files)

    def resolve(self, pod: dict[str, Any], name: str) -> observed.ResolvedImage | CreateContainerError:
        written = self.written(pod, name)
        found = self._tools.images.resolve(written.get("image", ""), tool_role(pod, written))
        if isinstance(found, EnvironmentNotFound):
            return CreateContainerError(found.reason, found.message)
        self._environments[name] = found
        told = "" if found.own else "; name one of its own with `traincrew image set`"
        return observed.ResolvedImage(
            pulled_message=f'Image "{written.get("image", "")}" is not pulled: {found.source} stands in for it{told}'
        )

    async def container(self, pod: dict[str, Any], name: str, attempt: int, address: str) -> spec.Container:
        """Raises Unfit, ConfigError, Unmade or ApiError."""
        written = self.written(pod, name)
        if name not in self._environments and isinstance(refusal := self.resolve(pod, name), CreateContainerError):
            raise refusal
        mounted = self._mounted or await self.mount(pod)
        environment = self._environments[name]
        variables = await self._variables(pod, written, address)
        devices, visible = self._tools.devices.of(self._ledger, name)
        composed = build_process_config(written, environment, {**visible, **variables}, self._own_variables(pod, written))
        mounts = (*self._etc_mounts(), *environment.mounts, *volumes.build_mounts(written, mounted, variables))
        made = container_config.ResolvedContainer(composed, mounts, _limits(pod, written), devices, mounted.groups)
        log = self._tools.options.logs
        where = container_config.LogConfig(str(self.log_directory(pod, name)), log.file_bytes, log.files)
        return container_config.container(pod, written, attempt, made, where)

    async def _variables(self, pod: dict[str, Any], written: dict[str, Any], address: str) -> dict[str, str]:
        tools = self._tools
        host = tools.place.address
        rest = EnvironmentSources(
            services=tools.services(), pod_ips=(address,), host_ips=(host,), allocatable=tools.machine.allocatable
        )
        known = await environment_sources.load_sources(pod, written, tools.objects, rest)
        if tools.isolation is spec.Isolation.NONE:
            written, known = unisolated_containers.told(
                pod, written, known, await unisolated_containers.services(tools.client), tools
            )
        return variables.build_environment(pod, written, known)

    def _own_variables(self, pod: dict[str, Any], written: dict[str, Any]) -> dict[str, str]:
        own = container_config.default_variables(pod, written)
        bare = self._tools.isolation is spec.Isolation.NONE
        return {**own, **unisolated_containers.variables(self._ledger.path, self._tools)} if bare else own

    def _etc_mounts(self) -> tuple[spec.Mount, ...]:
        etc_files = self._ledger.path / "etc"
        names = ("hosts", "resolv.conf", "hostname")
        return tuple(spec.Mount(f"/etc/{name}", str(etc_files / name), optional=True) for name in names)

    def release(self) -> None:
        """The memory that volumes take; raises OSError."""
        volumes.release_memory(self._place())

    async def clear(self, pod: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            await volumes.unmount(pod, self._tools.objects, self._place())
        await self._tools.template.remove(self._ledger.path)


def _limits(pod: dict[str, Any], written: dict[str, Any]) -> spec.Limits:
    """A tenth of a core is enough for the tools of the images that ours stand in for; ours start an interpreter each time."""
    found = resource_limits.of_container(pod, written)
    if tool_role(pod, written) and found.cpu_quota:
        return dataclasses.replace(found, cpu_quota=max(found.cpu_quota, TOOLS_CORES))
    return found


def _host_file(path: str) -> str:
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""
