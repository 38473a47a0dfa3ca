"""Volume mounts of containers: paths, access modes and subPath."""

from __future__ import annotations

import os
import pathlib
import tracemalloc
from typing import Any

import pytest

from traincrew.embedded.kubelet.envvars.errors import ConfigError
from traincrew.embedded.kubelet.runtime.spec import Mount
from traincrew.embedded.kubelet.volumes import MountableVolume, MountedVolumes, atomic_writer, build_mounts, mount_nesting
from traincrew.embedded.kubelet.volumes.projected_files import ProjectedFile


def container(*mounts: dict[str, Any]) -> dict[str, Any]:
    return {"name": "main", "volumeMounts": list(mounts)}


def test_mounts_have_their_paths_and_access_modes(tmp_path: pathlib.Path) -> None:
    mounted = MountedVolumes({"a": MountableVolume("/va"), "b": MountableVolume("/vb", read_only=True)})
    spec = container(
        {"name": "a", "mountPath": "/x/"}, {"name": "a", "mountPath": "/y", "readOnly": True}, {"name": "b", "mountPath": "z"}
    )
    assert build_mounts(spec, mounted) == (Mount("/x", "/va"), Mount("/y", "/va", True), Mount("/z", "/vb", True))


def test_a_missing_volume_is_reported() -> None:
    with pytest.raises(ConfigError, match='cannot find volume "v" to mount into container "main"'):
        build_mounts(container({"name": "v", "mountPath": "/x"}), MountedVolumes())


def test_a_missing_sub_path_is_created_with_its_mode(tmp_path: pathlib.Path) -> None:
    tmp_path.chmod(0o777)
    (mount,) = build_mounts(
        container({"name": "v", "mountPath": "/x", "subPath": "a/b"}), MountedVolumes({"v": MountableVolume(str(tmp_path))})
    )
    assert mount.source == str(tmp_path / "a" / "b")
    assert os.stat(mount.source).st_mode & 0o777 == 0o777


def test_sub_path_expr_expands_variables_of_the_container(tmp_path: pathlib.Path) -> None:
    spec = container({"name": "v", "mountPath": "/x", "subPathExpr": "$(POD)-$(N)"})
    mounted = MountedVolumes({"v": MountableVolume(str(tmp_path))})
    (mount,) = build_mounts(spec, mounted, {"POD": "p", "N": "1"})
    assert mount.source == str(tmp_path / "p-1")
    with pytest.raises(ConfigError, match="missing value for N"):
        build_mounts(spec, mounted, {"POD": "p"})


def test_sub_path_expr_ends_at_the_limit_of_a_path() -> None:
    """Not only when all of it is in memory: a megabyte of references would name gigabytes."""
    spec = container({"name": "v", "mountPath": "/x", "subPathExpr": "$(A)" * 1_000})
    tracemalloc.start()
    try:
        with pytest.raises(ConfigError, match=r'^subPathExpr of volumeMount "v" is longer than 4096 characters'):
            build_mounts(spec, MountedVolumes({"v": MountableVolume("/none")}), {"A": "x" * 100_000})
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("inner", ["link", "link/deeper", "in/link", "in/link/new", "loop"])
def test_no_symlink_leads_out_of_the_volume(tmp_path: pathlib.Path, inner: str) -> None:
    outside, volume = tmp_path / "outside", tmp_path / "volume"
    outside.mkdir()
    (volume / "in").mkdir(parents=True)
    (volume / "link").symlink_to(outside)
    (volume / "in" / "link").symlink_to("../../outside")
    (volume / "loop").symlink_to("loop")
    message = 'failed to prepare subPath for volumeMount "v" of container "main"'
    with pytest.raises(ConfigError, match=message):
        build_mounts(
            container({"name": "v", "mountPath": "/x", "subPath": inner}), MountedVolumes({"v": MountableVolume(str(volume))})
        )
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(("inner", "message"), [("/etc", "must not be an absolute path"), ("a/../../b", "must not contain '..'")])
def test_invalid_sub_paths_are_rejected(tmp_path: pathlib.Path, inner: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_mounts(
            container({"name": "v", "mountPath": "/x", "subPath": inner}), MountedVolumes({"v": MountableVolume(str(tmp_path))})
        )


@pytest.mark.parametrize("inner", ["a/" * 20_000, "a" * 256, "a\0b"], ids=["long", "long name", "zero"])
def test_a_sub_path_that_no_directory_can_have_is_rejected(tmp_path: pathlib.Path, inner: str) -> None:
    mounted = MountedVolumes({"v": MountableVolume(str(tmp_path))})
    with pytest.raises(ConfigError, match='failed to prepare subPath for volumeMount "v" of container "main"'):
        build_mounts(container({"name": "v", "mountPath": "/x", "subPath": inner}), mounted)
    assert not list(tmp_path.iterdir())


def test_symlinks_within_the_volume_are_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (mount,) = build_mounts(
        container({"name": "v", "mountPath": "/x", "subPath": "link/new"}), MountedVolumes({"v": MountableVolume(str(tmp_path))})
    )
    assert (mount.volume, mount.source) == (str(tmp_path), str(tmp_path / "link" / "new"))
    assert (tmp_path / "real" / "new").is_dir()


def test_a_sub_path_of_a_config_map_keeps_the_version_of_its_mount(tmp_path: pathlib.Path) -> None:
    atomic_writer.write(tmp_path, {"f": ProjectedFile(b"1")})
    spec = container({"name": "v", "mountPath": "/etc/f", "subPath": "f"})
    (mount,) = build_mounts(spec, MountedVolumes({"v": MountableVolume(str(tmp_path), True)}))
    with open(mount.source, "rb") as held:
        atomic_writer.write(tmp_path, {"f": ProjectedFile(b"2")})
        assert held.read() == b"1"
    (again,) = build_mounts(spec, MountedVolumes({"v": MountableVolume(str(tmp_path), True)}))
    assert pathlib.Path(again.source).read_bytes() == b"2"


def test_nested_mounts_have_mount_points(tmp_path: pathlib.Path) -> None:
    mounts = [
        {"name": "c", "mountPath": "/etc/mpi"},
        {"name": "e", "mountPath": "/etc/mpi/scratch/a"},
        {"name": "e", "mountPath": "/o"},
    ]
    pod = {"spec": {"containers": [{"name": "main", "volumeMounts": mounts}]}}
    assert mount_nesting.nested_mount_points("c", pod) == ["scratch/a"]
    assert mount_nesting.nested_mount_points("e", pod) == []
