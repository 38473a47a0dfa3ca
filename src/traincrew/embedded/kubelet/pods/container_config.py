"""The container config of a container: process, environment, mounts, limits, devices and security context."""

from __future__ import annotations

import asyncio
import dataclasses
import pathlib
import shlex
from typing import Any

from traincrew import settings
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.envvars.process_config import ProcessConfig, build_process_config
from traincrew.embedded.kubelet.images import Environment, EnvironmentNotFound, ImageResolver, environment_access, tool_role
from traincrew.embedded.kubelet.images.default_environment import ANNOTATION
from traincrew.embedded.kubelet.lifecycle import resource_limits
from traincrew.embedded.kubelet.lifecycle.observed import ResolvedImage
from traincrew.embedded.kubelet.logs import log_directory
from traincrew.embedded.kubelet.network import pod_files
from traincrew.embedded.kubelet.pods import sandbox_config
from traincrew.embedded.kubelet.pods.container_envvars import EnvironmentBuilder
from traincrew.embedded.kubelet.pods.device_assignments import DeviceAssignments
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.volume_mounts import VolumeMounts
from traincrew.embedded.kubelet.runtime import spec

TOOLS_CORES = 1.0


class CreateContainerError(Exception):
    """The container cannot be created. reason: the waiting reason of its state."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclasses.dataclass(frozen=True)
class ContainerLogs:
    """Where and how the logs of containers are written."""

    root: pathlib.Path
    settings: settings.Logs

    def directory(self, pod: Object, container: str) -> pathlib.Path:
        return self.of_pod(pod) / container

    def of_pod(self, pod: Object) -> pathlib.Path:
        metadata = pod["metadata"]
        return log_directory.pod_directory(self.root, metadata["namespace"], metadata["name"], metadata["uid"])


@dataclasses.dataclass(frozen=True)
class ResolvedContainer:
    process: ProcessConfig
    mounts: tuple[spec.Mount, ...]
    devices: tuple[str, ...]
    groups: tuple[int, ...]
    """Supplementary groups of the volumes."""


class ContainerConfigBuilder:
    """Builds the configs of the containers of one pod."""

    def __init__(
        self,
        pod: ManagedPod,
        images: ImageResolver,
        environment: EnvironmentBuilder,
        volume_mounts: VolumeMounts,
        devices: DeviceAssignments,
        logs: ContainerLogs,
    ) -> None:
        self._pod, self._images, self._environment = pod, images, environment
        self._volumes, self._devices, self._logs = volume_mounts, devices, logs
        self._resolved: dict[str, Environment] = {}

    def resolve_image(self, name: str) -> ResolvedImage:
        """Raises CreateContainerError."""
        container = self._pod.container(name)
        image = container.get("image", "")
        annotations = self._pod.object["metadata"].get("annotations") or {}
        role = tool_role(self._pod.object, container)
        environment = self._images.resolve(image, role, str(annotations.get(ANNOTATION) or ""))
        if isinstance(environment, EnvironmentNotFound):
            raise CreateContainerError(environment.reason, environment.message)
        self._resolved[name] = environment
        # The environment of an annotation was chosen for the pod.
        is_default = not environment.mapped and ANNOTATION not in annotations
        command = f"traincrew image set {shlex.quote(image)} --env-dir DIR"
        remedy = f" The image has no mapping. Run `{command}` to map it." if is_default else ""
        return ResolvedImage(f'Image "{image}" is not pulled. The container uses {environment.source}.{remedy}')

    async def build(self, name: str, attempt: int) -> spec.ContainerConfig:
        """Raises CreateContainerError, ConfigError, VolumeError or ApiError."""
        pod, container = self._pod.object, self._pod.container(name)
        if name not in self._resolved:
            self.resolve_image(name)
        image, mounted = self._resolved[name], await self._volumes.mounted(pod)
        variables = await self._environment.build(pod, container, self._pod.address)
        devices, device_variables = self._devices.of_container(self._pod.directory, name)
        defaults = {
            **default_variables(pod, container, self._environment.domain),
            **self._environment.defaults(self._pod.directory),
        }
        process = build_process_config(container, image, {**device_variables, **variables}, defaults)
        self._check_access(name, image, process)
        etc = sandbox_config.etc_mounts(self._pod.directory)
        # In a thread: a subPath may have thousands of directories, and a volume may be on a slow disk.
        volume_mounts = await asyncio.to_thread(volumes.build_mounts, container, mounted, variables)
        mounts = (*etc, *image.mounts, *volume_mounts)
        resolved = ResolvedContainer(process, mounts, devices, mounted.groups)
        return build_container(pod, container, attempt, resolved, self._logs)

    def _check_access(self, name: str, image: Environment, process: ProcessConfig) -> None:
        """A user without access to the environment would get another program of the same name, without its libraries."""
        context = _security_context(self._pod.object, self._pod.container(name))
        groups = (context.get("runAsGroup") or 0, *context.get("supplementalGroups", ()))
        closed = environment_access.closed_directory(image, process.argv[0], context.get("runAsUser") or 0, groups)
        if closed is not None:
            raise CreateContainerError("CreateContainerConfigError", closed)

    def start_hint(self, name: str) -> str:
        """What to do if the program of the container does not exist."""
        container, image = self._pod.container(name), self._resolved.get(name)
        if image is None or image.command or container.get("command") or not container.get("args"):
            return ""
        reference = container.get("image", "")
        return (
            f". The ENTRYPOINT of image {reference} is unknown here, so its first argument was run as the command. Run "
            f"`traincrew image set {shlex.quote(reference)} --command 'PROGRAM'` to set the ENTRYPOINT, or set `command`."
        )


def build_container(
    pod: Object, container: Object, attempt: int, resolved: ResolvedContainer, logs: ContainerLogs
) -> spec.ContainerConfig:
    """Raises CreateContainerError."""
    context = _security_context(pod, container)
    capabilities = context.get("capabilities") or {}
    return spec.ContainerConfig(
        name=container["name"], attempt=attempt, argv=resolved.process.argv, env=resolved.process.env,
        log=str(logs.directory(pod, container["name"])), log_bytes=logs.settings.file_bytes, log_files=logs.settings.files,
        cwd=resolved.process.cwd, user=_user(pod, container, context), group=context.get("runAsGroup"),
        groups=tuple(dict.fromkeys((*context.get("supplementalGroups", ()), *resolved.groups))),
        add_capabilities=tuple(capabilities.get("add", ())), drop_capabilities=tuple(capabilities.get("drop", ())),
        privileged=context.get("privileged", False), read_only_root=context.get("readOnlyRootFilesystem", False),
        no_new_privileges=context.get("allowPrivilegeEscalation") is False, mounts=resolved.mounts,
        limits=_limits(pod, container), message_path=container.get("terminationMessagePath") or "/dev/termination-log",
        stdin=container.get("stdin", False), stdin_once=container.get("stdinOnce", False), tty=container.get("tty", False),
        devices=resolved.devices,
    )  # fmt: skip


def default_variables(pod: Object, container: Object, domain: str) -> dict[str, str]:
    variables = {"HOSTNAME": pod_files.kernel_hostname(pod, domain), "HOME": "/root"}
    if _security_context(pod, container).get("runAsUser"):
        # The runtime uses the root directory for a user without an entry in /etc/passwd.
        variables["HOME"] = "/"
    if container.get("tty"):
        variables["TERM"] = "xterm"
    return variables


def _security_context(pod: Object, container: Object) -> dict[str, Any]:
    return {**(pod["spec"].get("securityContext") or {}), **(container.get("securityContext") or {})}


def _user(pod: Object, container: Object, context: Object) -> int | None:
    user: int | None = context.get("runAsUser")
    if context.get("runAsNonRoot") and not user:
        metadata = pod["metadata"]
        name = f'"{metadata["name"]}_{metadata["namespace"]}({metadata["uid"]})"'
        breach = "container has runAsNonRoot and image will run as root"
        if user == 0:
            breach = "container's runAsUser breaks non-root policy"
        message = f"{breach} (pod: {name}, container: {container['name']})"
        raise CreateContainerError("CreateContainerConfigError", message)
    return user


def _limits(pod: Object, container: Object) -> spec.Limits:
    """Our replacements of tool images start an interpreter: the CPU limit that suits the real images is too small for them."""
    limits = resource_limits.of_container(pod, container)
    if tool_role(pod, container) and limits.cpu_quota:
        return dataclasses.replace(limits, cpu_quota=max(limits.cpu_quota, TOOLS_CORES))
    return limits
