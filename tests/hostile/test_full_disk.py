"""The file system of the data directory is full while pods run. It is a small file system of the test's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest
from tests.cluster.api import RejectedRequest, consistently, eventually
from tests.hostile import shims
from tests.hostile.hostile_cluster import LEVELS, HostileCluster
from tests.node.local_cluster import pod

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
MEBIBYTES = 48
FILL = (
    "dd if=/dev/zero of=/space/filler bs=64k 2>/dev/null; echo full; while :; do cat /dev/zero >> /space/filler; sleep 0.2; done"
)
TALK = "while :; do echo line; sleep 0.05; done"
SPACE = {"volumes": [{"name": "space", "emptyDir": {}}], "volumeMounts": [{"name": "space", "mountPath": "/space"}]}


def resize(cluster: HostileCluster, mebibytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={mebibytes}m", cluster.home], check=True)


def free(cluster: HostileCluster) -> int:
    status = os.statvfs(cluster.home)
    return status.f_bavail * status.f_frsize


@pytest.fixture(params=LEVELS)
def small(request: pytest.FixtureRequest) -> Iterator[HostileCluster]:
    """A cluster whose data directory is on a small disk."""
    cluster = HostileCluster(request.param)
    owner = cluster.user or 0
    options = f"size={MEBIBYTES}m,mode=700,uid={owner},gid={owner}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "traincrew-test", cluster.home], check=True)
    try:
        if why := cluster.unavailable():
            pytest.skip(why)
        yield cluster
        resize(cluster, 8 * MEBIBYTES)
        cluster.close()
    finally:
        cluster.end()
        subprocess.run(["umount", "--lazy", cluster.home], check=True)
        cluster.home.rmdir()


def fill(cluster: HostileCluster) -> None:
    cluster.create(pod("fills", "sh", "-c", FILL, **SPACE))
    eventually(lambda: free(cluster) == 0, 60)


def test_pods_run_on_and_can_be_deleted_when_there_is_space_again(small: HostileCluster) -> None:
    small.up()
    daemon = small.pid
    small.create(pod("talks", "sh", "-c", TALK))
    small.running("talks")
    shim = shims.shim_pid(small, "talks")
    fill(small)
    consistently(lambda: small.pod("talks")["status"]["phase"] == "Running", 3.0)
    with pytest.raises(RejectedRequest, match="no space left on the file system") as error:
        write_until_rejected(small)
    assert error.value.code == 503
    resize(small, 2 * MEBIBYTES)
    eventually(lambda: deleted(small, "fills"), 60)
    small.gone("fills", seconds=60)
    small.create(pod("next", "true"))
    assert small.ended("next")["status"]["phase"] == "Succeeded"
    found = small.running("talks")["status"]["containerStatuses"][0]
    assert (found["restartCount"], shims.shim_pid(small, "talks"), small.pid) == (0, shim, daemon)


def write_until_rejected(cluster: HostileCluster) -> None:
    for number in range(1000):
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}, "data": {"k": "v" * 9000}})


def deleted(cluster: HostileCluster, name: str) -> bool:
    try:
        cluster.api.delete("pods", "default", name, grace=0)
    except RejectedRequest as error:
        if error.code != 503:
            raise
        return False
    return True


def test_down_stops_all_pods_and_the_next_start_with_space_succeeds(small: HostileCluster) -> None:
    small.up()
    small.create(pod("talks", "sh", "-c", TALK))
    small.running("talks")
    fill(small)
    small.footprint.record()
    small.down("--grace", "1")
    left = [each for each in small.footprint.of_cluster() if not each.startswith("file ")]
    assert not left, "left behind:\n" + "\n".join(left)
    resize(small, 2 * MEBIBYTES)
    small.up()
    for name in ("talks", "fills"):
        assert small.ended(name)["status"]["phase"] == "Failed"
