"""A cluster that is attacked: `traincrew up` under a memory limit, in a data directory of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess

from tests.hostile.footprint import Footprint, assert_nothing_left
from tests.node.local_cluster import LocalCluster, python_for

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.pods import sync_loop

LEVELS = ("root", "user")
MEMORY = 4 << 30
"""Bytes of address space of the daemon and of each process of a pod. An attack that succeeds must not harm the machine."""
_CHECK = (
    "from traincrew.embedded.kubelet.runtime import isolation; from traincrew.embedded.kubelet.runtime.spec import Isolation;"
    "print(isolation.check(Isolation.{}))"
)


class HostileCluster(LocalCluster):
    def __init__(self, level: str) -> None:
        super().__init__(level)
        self.footprint = Footprint(self.data)

    def command(self, *arguments: str) -> list[str]:
        return ["prlimit", f"--as={MEMORY}", *super().command(*arguments)]

    def unavailable(self) -> str:
        """Why this machine does not allow the level, or an empty string."""
        program, variables = python_for(self.user)
        ids = {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        script = _CHECK.format(self.level.upper())
        done = subprocess.run([program, "-c", script], env={**os.environ, **variables}, capture_output=True, text=True, **ids)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stderr
        return str(done.stdout.strip())

    def clear(self) -> None:
        """Deletes every pod, claim and persistent volume. Fails if anything of them is left."""
        self.footprint.record()
        for namespace in self.api.names("namespaces", ""):
            for name in self._pods(namespace):
                self.api.delete("pods", namespace, name, grace=0)
                self.gone(name, namespace)
            for name in self.api.names("persistentvolumeclaims", namespace):
                self.api.delete("persistentvolumeclaims", namespace, name)
        for volume in self.api.all("persistentvolumes", ""):
            if volume["spec"]["persistentVolumeReclaimPolicy"] != "Delete":
                self.api.delete("persistentvolumes", "", volume["metadata"]["name"])
        assert_nothing_left(self.footprint, cluster=False)

    def _pods(self, namespace: str) -> list[str]:
        """Without mirror pods: the daemon creates its own again."""
        metadata = [each["metadata"] for each in self.api.all("pods", namespace)]
        return [each["name"] for each in metadata if sync_loop.MIRROR not in (each.get("annotations") or {})]

    def close(self) -> None:
        """Stops the cluster. Fails if anything of the cluster or of its pods is left. A daemon that died is started again."""
        try:
            if self.data.exists():
                self.up()
                self.clear()
                self.down()
                assert_nothing_left(self.footprint, cluster=True)
        finally:
            self.end()
            with contextlib.suppress(OSError):
                removal.remove_tree(self.home)
