"""From a pod as the API has it to what its shim is told. Nothing here touches the machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from traincrew.embedded.kubelet.environment.process_config import ProcessConfig
from traincrew.embedded.kubelet.network import pod_files
from traincrew.embedded.kubelet.runtime import spec


class CreateContainerError(Exception):
    """The container cannot be made as it is written: the reason that its state gets, and why."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclasses.dataclass(frozen=True)
class ResolvedContainer:
    """What was found out for this container."""

    composed: ProcessConfig
    mounts: tuple[spec.Mount, ...]
    limits: spec.Limits
    devices: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    """Supplementary groups that its volumes ask for."""


@dataclasses.dataclass(frozen=True)
class LogConfig:
    directory: str
    bytes: int
    files: int


@dataclasses.dataclass(frozen=True)
class SandboxResources:
    """What a pod gets of the machine."""

    directory: str
    masked: tuple[str, ...]
    shm_bytes: int
    limits: spec.Limits


def pod(obj: Mapping[str, Any], domain: str, lodging: SandboxResources) -> spec.Pod:
    meta, wanted = obj["metadata"], obj["spec"]
    context = wanted.get("securityContext") or {}
    return spec.Pod(
        uid=meta["uid"], namespace=meta["namespace"], name=meta["name"], hostname=pod_files.hostname(obj),
        directory=lodging.directory, domain=pod_files.subdomain(obj, domain), host_network=wanted.get("hostNetwork", False),
        host_pid=wanted.get("hostPID", False), host_ipc=wanted.get("hostIPC", False),
        share_processes=wanted.get("shareProcessNamespace", False), shm_bytes=lodging.shm_bytes,
        sysctls={each["name"]: each["value"] for each in context.get("sysctls", ())}, cgroup=f"traincrew/{meta['uid']}",
        masked=lodging.masked, limits=lodging.limits,
    )  # fmt: skip


def container(
    obj: Mapping[str, Any], written: Mapping[str, Any], attempt: int, made: ResolvedContainer, where: LogConfig
) -> spec.Container:
    """Raises Unfit."""
    context = _context(obj, written)
    capabilities = context.get("capabilities") or {}
    return spec.Container(
        name=written["name"], attempt=attempt, argv=made.composed.argv, env=made.composed.env, log=where.directory,
        log_bytes=where.bytes, log_files=where.files, cwd=made.composed.cwd, user=_user(obj, written, context),
        group=context.get("runAsGroup"),
        groups=_groups(context, made), add_capabilities=tuple(capabilities.get("add", ())),
        drop_capabilities=tuple(capabilities.get("drop", ())), privileged=context.get("privileged", False),
        read_only_root=context.get("readOnlyRootFilesystem", False),
        no_new_privileges=context.get("allowPrivilegeEscalation") is False, mounts=made.mounts,
        limits=made.limits, message_path=written.get("terminationMessagePath") or "/dev/termination-log",
        stdin=written.get("stdin", False), stdin_once=written.get("stdinOnce", False), tty=written.get("tty", False),
        devices=made.devices,
    )  # fmt: skip


def default_variables(obj: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, str]:
    """What any container is told."""
    own = {"HOSTNAME": pod_files.hostname(obj), "HOME": "/root"}
    if user := _context(obj, written).get("runAsUser"):
        own["HOME"] = _home(user)
    if written.get("tty"):
        own["TERM"] = "xterm"
    return own


def _home(user: int) -> str:
    """Without an entry in /etc/passwd a runtime takes the root directory."""
    return "/" if user else "/root"


def _context(obj: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    return {**(obj["spec"].get("securityContext") or {}), **(written.get("securityContext") or {})}


def _user(obj: Mapping[str, Any], written: Mapping[str, Any], context: Mapping[str, Any]) -> int | None:
    user: int | None = context.get("runAsUser")
    if context.get("runAsNonRoot") and not user:
        meta = obj["metadata"]
        pod, name = f'"{meta["name"]}_{meta["namespace"]}({meta["uid"]})"', written["name"]
        told = (
            "container's runAsUser breaks non-root policy"
            if user == 0
            else "container has runAsNonRoot and image will run as root"
        )
        raise CreateContainerError("CreateContainerConfigError", f"{told} (pod: {pod}, container: {name})")
    return user


def _groups(context: Mapping[str, Any], made: ResolvedContainer) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*context.get("supplementalGroups", ()), *made.groups)))
