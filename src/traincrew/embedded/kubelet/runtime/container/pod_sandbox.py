"""The pod sandbox: namespaces, cgroup and event loop that the containers of a pod share."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from traincrew.embedded.kubelet.runtime import spec, syscalls
from traincrew.embedded.kubelet.runtime.container.pause import SharedProcesses
from traincrew.embedded.kubelet.runtime.event_loop import EventLoop

if TYPE_CHECKING:
    from traincrew.embedded.kubelet.runtime.cgroups.cgroups import Cgroup


@dataclasses.dataclass(frozen=True)
class PodSandbox:
    pod: spec.PodSandboxConfig
    isolation: spec.Isolation
    loop: EventLoop
    cgroup: Cgroup | None = None
    processes: SharedProcesses = SharedProcesses()
    shm_namespace: int = -1
    """The mount namespace that keeps their /dev/shm; -1: each has its own."""

    @property
    def own_pid_namespaces(self) -> bool:
        return self.isolation != spec.Isolation.NONE and not self.pod.host_pid and not self.shared_processes

    @property
    def shared_processes(self) -> bool:
        return self.processes.pid_namespace >= 0

    def enter(self) -> None:
        if self.own_pid_namespaces:
            syscalls.unshare(syscalls.CLONE_NEWPID)
