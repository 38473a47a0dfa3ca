"""hostPath: what is missing is created where the path leads, and nowhere in the cluster's data directory."""

from __future__ import annotations

import errno
import os
import pathlib

import pytest
from tests.embedded.kubelet.runtime.swapper import exchanging

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.volumes import host_path, persistent_claims
from traincrew.embedded.kubelet.volumes.errors import VolumeNotReady, VolumeSourceError

TIMES = 200


def create(path: pathlib.Path | str, kind: str = "DirectoryOrCreate", data: pathlib.Path | None = None) -> str:
    return host_path.resolve({"path": str(path), "type": kind}, data)


@pytest.fixture
def data(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "data"
    (path / "volumes").mkdir(parents=True)
    return path


def test_links_of_the_machine_are_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    create(tmp_path / "link/a/b")
    create(tmp_path / "link/file", "FileOrCreate")
    assert (tmp_path / "real/a/b").is_dir()
    assert (tmp_path / "real/file").is_file()


@pytest.mark.parametrize("kind", ["", "DirectoryOrCreate", "FileOrCreate"])
def test_nothing_is_created_through_a_link_that_leads_nowhere(tmp_path: pathlib.Path, kind: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VolumeSourceError, match=os.strerror(errno.EEXIST).lower()):
        create(tmp_path / "link", kind)
    assert not (tmp_path / "elsewhere").exists()


def test_a_very_deep_directory_is_created(tmp_path: pathlib.Path) -> None:
    """Deeper than the recursion limit of Python."""
    path = f"{tmp_path}/" + "d/" * 1300
    try:
        assert create(path) == path
        assert create(path, "Directory") == path
    finally:
        removal.remove_tree(tmp_path)


@pytest.mark.parametrize("kind", ["", "Directory", "DirectoryOrCreate", "FileOrCreate"])
@pytest.mark.parametrize("path", ["/" + "d/" * 20_000, "/none/a\0b"], ids=["long", "zero"])
def test_a_path_that_no_file_can_have_is_an_error(path: str, kind: str) -> None:
    with pytest.raises(VolumeSourceError):
        create(path, kind)


def test_nothing_is_created_in_the_data_directory(tmp_path: pathlib.Path, data: pathlib.Path) -> None:
    (tmp_path / "link").symlink_to(data)
    for path in (data / "new", data / "volumes/new", tmp_path / "link/new/deep", data):
        with pytest.raises(VolumeSourceError, match="is in the cluster's data directory"):
            create(path, data=data)
    assert sorted(os.listdir(data)) == ["volumes"]


def test_nothing_is_created_in_the_data_directory_by_a_link_that_appears_meanwhile(
    tmp_path: pathlib.Path, data: pathlib.Path
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "link").symlink_to(data)
    created = 0
    with exchanging(tmp_path / "shared", tmp_path / "link"):
        for number in range(TIMES):
            try:
                create(tmp_path / "shared" / str(number) / "deep", data=data)
                created += 1
            except VolumeSourceError:
                pass
    assert created
    assert sorted(os.listdir(data)) == ["volumes"]
    assert not os.listdir(data / "volumes")


def volume(**source: object) -> dict[str, object]:
    return {"metadata": {"name": "pv"}, "spec": source}


def test_a_persistent_volume_may_be_in_the_part_of_the_data_directory_for_volumes_only(data: pathlib.Path) -> None:
    good = volume(hostPath={"path": str(data / "volumes/claim"), "type": "DirectoryOrCreate"})
    assert persistent_claims.directory(good, data).path == str(data / "volumes/claim")
    for path in (data, data / "pki", data / "node/pods"):
        with pytest.raises(VolumeNotReady, match="is in the cluster's data directory"):
            persistent_claims.directory(volume(hostPath={"path": str(path)}), data)
    assert sorted(os.listdir(data)) == ["volumes"]
