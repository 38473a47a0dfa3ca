"""Specifications of pods and containers for the runtime: plain values, shared by kubelet and shim."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

PROTOCOL = 1
"""The version of the shim protocol. The shim reports it in its hello message and in shim.json."""
EXEC_SOCKETS, FORMER_EXEC_SOCKETS = "exec", "doors"
"""The directory of the exec sockets, below that of the node, and its name in earlier releases."""


class Isolation(enum.StrEnum):
    ROOT = "root"
    USER = "user"
    NONE = "none"


@dataclasses.dataclass(frozen=True)
class Mount:
    path: str
    source: str = ""
    """A path of the host; of a subPath the path of the volume, followed by the subPath."""
    read_only: bool = False
    kind: str = "bind"
    """bind or tmpfs."""
    size: int = 0
    """Bytes of a tmpfs; 0: no limit."""
    optional: bool = False
    """Isolation level "none" has no mounts: leave this one out instead of failing."""
    volume: str = ""
    """Of a subPath: the path of the volume. No symbolic link in the rest of `source` may lead out of it."""
    host_path: bool = False
    """A hostPath volume: nothing of the masked directories may be mounted, also not what other volumes have there."""


@dataclasses.dataclass(frozen=True)
class Limits:
    cpu_shares: int = 0
    cpu_quota: float = 0.0
    """Cores; 0: no limit."""
    memory: int = 0
    pids: int = 0


@dataclasses.dataclass(frozen=True)
class ContainerConfig:
    name: str
    attempt: int
    argv: tuple[str, ...]
    env: dict[str, str]
    log: str
    """The directory of <attempt>.log."""
    cwd: str = "/"
    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] = ()
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    privileged: bool = False
    read_only_root: bool = False
    no_new_privileges: bool = False
    mounts: tuple[Mount, ...] = ()
    limits: Limits = Limits()
    log_bytes: int = 10 << 20
    """Size at which the log file is rotated; 0: never."""
    log_files: int = 5
    """The number of log files to keep, including the current one."""
    message_path: str = "/dev/termination-log"
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    devices: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class PodSandboxConfig:
    uid: str
    namespace: str
    name: str
    hostname: str
    directory: str
    domain: str = ""
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    share_processes: bool = False
    shm_bytes: int = 0
    sysctls: dict[str, str] = dataclasses.field(default_factory=dict)
    cgroup: str = ""
    """Path below the cluster's own cgroup; "": no cgroup."""
    masked: tuple[str, ...] = ()
    """Masked paths: directories of the host that the pod must not see."""
    limits: Limits = Limits()


@dataclasses.dataclass(frozen=True)
class Exit:
    """The exit record of a container. The code is the kubelet's: 128 + n after signal n."""

    code: int
    started: str
    finished: str
    signal: int = 0
    oom: bool = False
    message: str = ""


def to_json(value: PodSandboxConfig | ContainerConfig | Exit) -> dict[str, Any]:
    return dataclasses.asdict(value)


def pod_from_json(values: dict[str, Any]) -> PodSandboxConfig:
    known = _known(PodSandboxConfig, values)
    known["masked"] = tuple(known.get("masked", ()))
    known["limits"] = Limits(**_known(Limits, known.get("limits", {})))
    return PodSandboxConfig(**known)


def container_from_json(values: dict[str, Any]) -> ContainerConfig:
    known = _known(ContainerConfig, values)
    for name in ("argv", "groups", "add_capabilities", "drop_capabilities", "devices"):
        known[name] = tuple(known.get(name, ()))
    known["mounts"] = tuple(Mount(**_known(Mount, mount)) for mount in known.get("mounts", ()))
    known["limits"] = Limits(**_known(Limits, known.get("limits", {})))
    return ContainerConfig(**known)


def exit_from_json(values: dict[str, Any]) -> Exit:
    return Exit(**_known(Exit, values))


def _known(kind: type[Any], values: dict[str, Any]) -> dict[str, Any]:
    """Fields of a later release are ignored."""
    return {name: value for name, value in values.items() if name in kind.__dataclass_fields__}
