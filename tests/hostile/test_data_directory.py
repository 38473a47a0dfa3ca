"""The cluster's data directory is hidden at every path of the machine that shows it."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Iterator

import pytest
from tests.cluster.api import eventually
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod


@pytest.fixture
def second(cluster: HostileCluster) -> Iterator[pathlib.Path]:
    """A second mount of the directory above the data directory."""
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    path = pathlib.Path("/mnt") / cluster.home.name
    path.mkdir()
    subprocess.run(["mount", "--bind", cluster.home, path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)
        path.rmdir()


def test_a_second_mount_of_the_disk_does_not_show_the_keys(cluster: HostileCluster, second: pathlib.Path) -> None:
    secret = (cluster.data / "kubeconfig").read_text()
    (second / "other").write_text("shown\n")
    mounts = {"volumes": [{"name": "h", "hostPath": {"path": str(second)}}], "volumeMounts": [{"name": "h", "mountPath": "/h"}]}
    script = f"cat {second}/other /h/other; ls -A {second}/data /h/data; cat {second}/data/kubeconfig /h/data/kubeconfig"
    cluster.create(pod("looks-twice", "sh", "-c", script, **mounts))
    assert cluster.ended("looks-twice")["status"]["phase"] == "Failed"
    output = cluster.logs("looks-twice")
    assert output.count("shown") == 2
    assert not [line for line in secret.splitlines() if len(line) > 40 and line in output]
    assert "kubeconfig\n" not in output.replace("kubeconfig: No such file or directory\n", "")


def test_a_host_path_into_the_data_directory_by_a_second_mount_is_rejected(cluster: HostileCluster, second: pathlib.Path) -> None:
    for name in ("kubeconfig", "volumes"):
        path = second / "data" / name
        volumes = [{"name": "h", "hostPath": {"path": str(path)}}]
        cluster.create(pod(f"enters-{name}", "ls", "/h", volumes=volumes, volumeMounts=[{"name": "h", "mountPath": "/h"}]))
        eventually(lambda path=path, name=name: _rejected(cluster, f"enters-{name}", path))  # type: ignore[misc]


def _rejected(cluster: HostileCluster, name: str, path: pathlib.Path) -> bool:
    words = f"hostPath {path} is in the cluster's data directory {cluster.data}, which cannot be mounted into pods"
    return any(reason == "FailedMount" and words in message for reason, message in cluster.events(name))
