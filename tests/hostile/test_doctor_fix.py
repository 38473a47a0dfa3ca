"""`traincrew doctor --fix` removes what deleted clusters have left, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import zlib

import pytest
from tests.cluster.api import Object, eventually
from tests.hostile import shims
from tests.hostile.footprint import assert_nothing_left
from tests.hostile.hostile_cluster import HostileCluster
from tests.hostile.test_sockets import assert_unharmed, lasting
from tests.node.local_cluster import pod

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.network import egress

INITIAL_PID_NAMESPACE = 0xEFFFFFFC
pytestmark = pytest.mark.skipif(
    os.stat("/proc/self/ns/pid").st_ino != INITIAL_PID_NAMESPACE, reason="a container does not show every cluster"
)
MEMORY: Object = {
    "volumes": [{"name": "memory", "emptyDir": {"medium": "Memory"}}],
    "volumeMounts": [{"name": "memory", "mountPath": "/memory"}],
}


def kill_with_shim(cluster: HostileCluster, name: str) -> None:
    """Kills the daemon and the shim of a pod. The init process of its container cannot end by itself."""
    directory, shim = shims.shim_directory(cluster, name), shims.shim_pid(cluster, name)
    init = json.loads((directory / "containers/main/0/init.json").read_text())["pid"]
    cluster.kill()
    os.kill(init, signal.SIGSTOP)
    os.kill(shim, signal.SIGKILL)


def test_what_a_deleted_cluster_has_left_is_removed_and_named(fresh: HostileCluster) -> None:
    fresh.up()
    for name in ("sound", "broken"):
        fresh.create(pod(name, "sh", "-c", "touch /memory/file; sleep 600", **MEMORY))
    for name in ("sound", "broken"):
        fresh.running(name)
    uids = [str(fresh.pod(name)["metadata"]["uid"]) for name in ("sound", "broken")]
    fresh.footprint.record()
    kill_with_shim(fresh, "broken")
    with contextlib.suppress(removal.NotRemoved):  # mounts keep their directories
        removal.remove_tree(fresh.data)
    output = fresh.traincrew("doctor", "--fix", "--data", str(fresh.home / "other"), check=False).stdout
    assert f"removed the processes of the network of the deleted cluster in {fresh.data}" in output
    if fresh.level == "root":
        link = egress.link_name(f"{zlib.crc32(os.fsencode(fresh.data / 'node')):08x}")
        assert f"removed the link {link}, its firewall rules" in output
        assert f"/{uids[1]}" in output, "the cgroup"
        assert f"removed the mount {fresh.data}/node/pods/{uids[0]}/volumes/memory" in output
    removal.remove_tree(fresh.data)
    assert_nothing_left(fresh.footprint, cluster=True)


def test_a_cluster_that_exists_is_not_touched(fresh: HostileCluster) -> None:
    fresh.up()
    uid = lasting(fresh, "runs")
    daemon = fresh.pid
    fresh.traincrew("doctor", "--fix", check=False)
    assert_unharmed(fresh, "runs", uid)
    assert fresh.pid == daemon
    fresh.kill()
    fresh.traincrew("doctor", "--fix", check=False)
    fresh.up()
    assert_unharmed(fresh, "runs", uid)
    eventually(lambda: "line" in fresh.logs("runs"))
    fresh.clear()
    assert_nothing_left(fresh.footprint, cluster=False)
