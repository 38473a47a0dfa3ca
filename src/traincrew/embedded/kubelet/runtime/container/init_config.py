"""What the init of a container is started with."""

from __future__ import annotations

import dataclasses
import socket

from traincrew.embedded.kubelet.runtime import spec
from traincrew.embedded.kubelet.runtime.container import launch


@dataclasses.dataclass(frozen=True)
class InitConfig:
    pod: spec.PodSandboxConfig
    process: launch.ProcessSpec
    control: socket.socket
    """Connected to the shim while both processes live."""
    status: socket.socket
    """Connected to the shim until the execve: the start handshake."""
    serves_exec: bool
    """An exec leaves no exit record, and processes that it started may go on."""
    own_pid_namespace: bool
    """Whether a PID namespace ends with this process. Otherwise remaining processes must be found and killed."""
    mount_namespace: int = -1
    """A mount namespace to join, for an exec; -1: create one."""
    shm_namespace: int = -1
    """The mount namespace that keeps the pod's /dev/shm; -1: the container has its own."""
    pid_namespace: int = -1
    """The PID namespace that the pod's containers share; -1: this process is in that of the container."""
    proc_namespace: int = -1
    """The mount namespace that keeps /proc of that PID namespace."""

    def descriptors(self) -> list[int]:
        sockets, streams = (self.control.fileno(), self.status.fileno()), self.process.stdio
        namespaces = (self.mount_namespace, self.shm_namespace, self.pid_namespace, self.proc_namespace)
        return [fd for fd in (*sockets, *namespaces, *streams, *self.process.cgroup_entries) if fd >= 0]
