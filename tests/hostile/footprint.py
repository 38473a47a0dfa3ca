"""What a cluster and its pods use on this machine. It is recorded while they run; after an attack none of it may be left."""

from __future__ import annotations

import pathlib
import time

from tests.embedded.kubelet import leak_detection
from tests.hostile import host_network, network_namespaces

from traincrew.embedded.kubelet.volumes.empty_dir import SHARED_MEMORY

SECONDS = 90.0
"""Killed processes do not exit at once, and a tree of many thousand files is removed after them."""


class Footprint:
    def __init__(self, data: pathlib.Path) -> None:
        self._data = data
        self._pods: set[str] = set()
        self._namespaces: network_namespaces.Cookies = {}
        self._forwarding = host_network.forwarding_of_the_machine()

    def record(self) -> None:
        """Call it while pods run. The names of the log directories end with the UIDs of all pods, also of deleted ones."""
        self._pods |= {path.name.rpartition("_")[2] for path in (self._data / "logs").glob("*_*_*")}
        self._pods |= {path.name for path in (self._data / "node/pods").glob("*")}
        self._namespaces |= network_namespaces.of_cluster(self._data)

    def of_pods(self) -> list[str]:
        """What deleted pods and deleted claims have left."""
        claims = [f"file {path}" for path in (self._data / "volumes").glob("*")]
        return [*claims, *(leak for uid in self._pods for leak in self._of_pod(uid))]

    def of_cluster(self) -> list[str]:
        """What the cluster has left, after `traincrew down`, and its pods, after their deletion."""
        found = [*leak_detection.find_leaks(self._data), *network_namespaces.existing(self._namespaces)]
        return [*found, *host_network.left_by(self._data, self._forwarding), *self.of_pods()]

    def _of_pod(self, uid: str) -> list[str]:
        directory = self._data / "node/pods" / uid
        aside = self._data / "node/unremoved" / uid
        paths = [directory, aside, self._data / "node/exec" / f"{uid}.sock", *SHARED_MEMORY.glob(f"traincrew-*/{uid}")]
        files = [f"file {path}" for path in paths if path.exists() or path.is_symlink()]
        return [*leak_detection.find_leaks(directory, uid), *leak_detection.find_leaks(aside), *files]


def assert_nothing_left(footprint: Footprint, *, cluster: bool) -> None:
    """No process, mount, cgroup, network namespace, interface, firewall rule, kernel setting or file.

    cluster: `traincrew down` has run, too.
    """
    deadline = time.monotonic() + SECONDS
    while (left := footprint.of_cluster() if cluster else footprint.of_pods()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left, "left behind:\n" + "\n".join(left)
