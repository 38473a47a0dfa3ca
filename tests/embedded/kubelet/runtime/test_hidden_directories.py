"""A hidden directory is found at every path that shows it."""

from __future__ import annotations

import os
import pathlib

import pytest

from traincrew.embedded.kubelet.runtime import host_mounts
from traincrew.embedded.kubelet.runtime.rootfs.hidden_directories import HiddenDirectories, VisiblePath, visible_paths

DATA = "/home/user/data"


def table(tmp_path: pathlib.Path, *lines: str) -> tuple[host_mounts.HostMount, ...]:
    file = tmp_path / "mountinfo"
    file.write_text("".join(f"{line} rw - ext4 /dev/sda rw\n" for line in ("20 1 8:1 / /", *lines)))
    return host_mounts.visible(host_mounts.read(str(file)))


@pytest.mark.parametrize(
    ("lines", "further"),
    [
        pytest.param([], {}, id="one mount"),
        pytest.param(["21 20 8:1 /home/user /mnt/b"], {"/mnt/b/data": ""}, id="a bind mount of its parent"),
        pytest.param(["21 20 8:1 / /mnt/disk"], {"/mnt/disk/home/user/data": ""}, id="the disk a second time"),
        pytest.param(["21 20 8:1 /home/user/data /mnt/d"], {"/mnt/d": ""}, id="a bind mount of the directory"),
        pytest.param(["21 20 8:1 /home/user/data/pki /mnt/p"], {"/mnt/p": "pki"}, id="a bind mount of a part of it"),
        pytest.param(["21 20 8:1 /home/user/data/token /t"], {"/t": "token"}, id="a bind mount of a file in it"),
        pytest.param(["21 20 8:2 /home/user /mnt/b", "22 20 8:1 /home/user/data2 /mnt/c"], {}, id="other directories"),
        pytest.param(["21 20 8:1 /home/user /mnt/b", "22 21 8:3 / /mnt/b/data"], {}, id="covered by another mount"),
        pytest.param(
            ["21 20 0:9 /@home /home", "22 20 0:9 / /mnt/all", "23 20 0:9 /@root /other"],
            {"/mnt/all/@home/user/data": ""},
            id="a subvolume and the volume that contains it",
        ),
        pytest.param(
            ["21 20 8:1 /home /mnt/a", "22 21 8:1 /home /mnt/a/home"],
            {"/mnt/a/user/data": "", "/mnt/a/home/user/data": ""},
            id="twice",
        ),
    ],
)
def test_visible_paths(tmp_path: pathlib.Path, lines: list[str], further: dict[str, str]) -> None:
    expected = {DATA: "", **further}
    assert {each.path: each.part for each in visible_paths(DATA, table(tmp_path, *lines))} == expected


def test_a_part_that_containers_may_mount_is_hidden_from_host_paths(tmp_path: pathlib.Path) -> None:
    for name in ("data/volumes/claim", "data/node/pods/one", "data/pki", "other"):
        (tmp_path / name).mkdir(parents=True)
    hidden = HiddenDirectories((str(tmp_path / "data"),), str(tmp_path / "data/node/pods/one"))
    assert VisiblePath(str(tmp_path / "data")).path in hidden.paths

    def hides(name: str, *, host_path: bool = False) -> bool:
        opened = os.open(tmp_path / name, os.O_PATH)
        try:
            return hidden.hides(str(tmp_path / name), opened, host_path=host_path)
        finally:
            os.close(opened)

    assert [hides(name) for name in ("data/volumes/claim", "data/node/pods/one", "data/pki", "other", "data")] == [
        False, False, True, False, False,
    ]  # fmt: skip
    assert hides("data/volumes/claim", host_path=True)
    assert hides("data/node/pods/one", host_path=True)


def test_a_directory_whose_parent_was_renamed_meanwhile_is_hidden(tmp_path: pathlib.Path) -> None:
    (tmp_path / "above/data/pki").mkdir(parents=True)
    hidden = HiddenDirectories((str(tmp_path / "above/data"),))
    (tmp_path / "above").rename(tmp_path / "renamed")
    opened = os.open(tmp_path / "renamed/data/pki", os.O_PATH)
    try:
        assert hidden.hides(str(tmp_path / "renamed/data/pki"), opened, host_path=False)
    finally:
        os.close(opened)
