"""Pods leave trees that ordinary tools cannot remove. No such tree survives its pod or keeps a cluster from starting."""

from __future__ import annotations

import os
import pathlib
import uuid

import pytest
from tests.cluster.api import eventually
from tests.hostile import hostile_trees
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod
from tests.node.test_shutdown import fail_to_start
from tests.node.test_storage import assert_evicted, limit, scratch

from traincrew.embedded.kubelet.runtime import syscalls


def test_trees_in_every_kind_of_volume_are_removed_with_their_pod(cluster: HostileCluster) -> None:
    cluster.create(hostile_trees.everywhere(cluster, "builder"))
    eventually(lambda: cluster.logs("builder") == "made\n", 120)
    (claim,) = (cluster.data / "volumes").iterdir()
    cluster.clear()
    eventually(lambda: not claim.exists(), 60)


def test_a_cluster_starts_after_a_pod_has_made_a_very_deep_directory(fresh: HostileCluster) -> None:
    """The daemon is killed before it has removed the directory."""
    fresh.up()
    script = hostile_trees.BUILD + "os.chdir('/space'); deep(); print('made', flush=True); signal.pause()"
    fresh.create(pod("digger", "python3", "-c", script, **scratch()))
    eventually(lambda: fresh.logs("digger") == "made\n", 60)
    fresh.api.delete("pods", "default", "digger", grace=0)
    fresh.kill()
    fresh.up()
    eventually(lambda: not any((fresh.data / "node/pods").iterdir()), 60)


def test_a_start_that_fails_ends_the_network_if_only_directories_are_left_of_pods(fresh: HostileCluster) -> None:
    fresh.up()
    fresh.down()
    left = fresh.data / "node/pods" / str(uuid.uuid4())
    left.mkdir(mode=0o700)
    if fresh.user is not None:
        os.chown(left, fresh.user, fresh.user)
    fail_to_start(fresh)
    assert fresh.footprint.of_cluster() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_directory_that_cannot_be_removed_is_reported_and_stops_nothing(fresh: HostileCluster) -> None:
    fresh.up()
    fresh.create(pod("kept", "sleep", "600", **scratch()))
    uid = fresh.running("kept")["metadata"]["uid"]
    mounted = fresh.data / "node/pods" / uid / "volumes/space/mounted"
    mounted.mkdir()
    syscalls.mount("tmpfs", str(mounted), "tmpfs")
    aside = fresh.data / "node/unremoved" / uid
    try:
        fresh.api.delete("pods", "default", "kept", grace=0)
        eventually(aside.is_dir)
        assert "1 directory of deleted pods could not be removed" in fresh.traincrew("doctor", check=False).stdout
        fresh.kill()
        fresh.up()
        assert (aside / "volumes/space/mounted").is_mount()
    finally:
        syscalls.umount(str(_mounted(mounted, aside)), syscalls.MNT_DETACH)
    fresh.down()
    fresh.up()
    eventually(lambda: not aside.exists())


def _mounted(before: pathlib.Path, aside: pathlib.Path) -> pathlib.Path:
    return before if before.exists() else aside / "volumes/space/mounted"


def test_files_at_the_bottom_of_a_very_deep_directory_count_for_the_limits_of_storage(cluster: HostileCluster) -> None:
    script = hostile_trees.BUILD + "os.chdir(sys.argv[1]); deep(bytes(40 << 20)); signal.pause()"
    cluster.create(pod("volume", "python3", "-c", script, "/space", **scratch("30Mi")))
    cluster.create(pod("layer", "python3", "-c", script, "/var/lib", **limit("30Mi")))
    assert_evicted(cluster, "volume", 'Usage of EmptyDir volume "space" exceeds the limit "30Mi". ')
    assert_evicted(cluster, "layer", "Pod ephemeral local storage usage exceeds the total limit of containers 30Mi. ")
