"""The directory of one run of a container: what it was started with, its init process, its termination message, its exit.

The kubelet reads it once the shim is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from traincrew.embedded import process_identity
from traincrew.embedded.kubelet.runtime import protocol, spec

_MESSAGE_BYTES = 4096


class ContainerDirectory:
    def __init__(self, pod: spec.PodSandboxConfig, container: spec.ContainerConfig) -> None:
        self._path = os.path.join(pod.directory, "containers", container.name, str(container.attempt))
        self._container = container
        self._descriptor = -1

    @property
    def message_path(self) -> str:
        """The file on the host that the container writes its termination message to."""
        return os.path.join(self._path, "message")

    def create(self) -> None:
        """OSError: for example a full disk. Space for the exit is reserved, so that it can be written later."""
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        protocol.reserve(self._descriptor, "exit.json")
        self._write("spec.json", json.dumps(spec.to_json(self._container)).encode(), 0o600)
        self._write("message", b"", 0o666)

    def _write(self, name: str, data: bytes, mode: int) -> None:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode, dir_fd=self._descriptor)
        os.fchmod(fd, mode)
        with open(fd, "wb") as file:
            file.write(data)

    def write_init(self, pid: int) -> None:
        """Without the shim, the kubelet finds and kills the container by its init process."""
        identity = process_identity.of(pid)
        protocol.write_atomically(self._descriptor, "init.json", json.dumps(identity).encode(), durable=False)

    def write_exit(self, record: dict[str, Any]) -> None:
        """By the shim, not by init: a container may control its init process, which must have no way to files of the host."""
        protocol.write_atomically(self._descriptor, "exit.json", json.dumps(record).encode())

    def read_message(self) -> str:
        """The end of the termination message."""
        with contextlib.suppress(OSError):
            fd = os.open("message", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._descriptor)
            with open(fd, "rb") as file:
                file.seek(max(0, os.fstat(fd).st_size - _MESSAGE_BYTES))
                return file.read(_MESSAGE_BYTES).decode(errors="replace")
        return ""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
