"""fsGroup while a pod exchanges entries of its volume with links: nothing outside of the volume changes its group or mode."""

from __future__ import annotations

import os
import pathlib

import pytest
from tests.embedded.kubelet.runtime.swapper import exchanging

from traincrew.embedded.kubelet.volumes import fs_group

GROUP = 4321
ROUNDS = 300


def owners(path: pathlib.Path) -> list[tuple[str, int, int]]:
    return [(each.name, each.lstat().st_gid, each.lstat().st_mode) for each in (path, *sorted(path.iterdir()))]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to any group")
@pytest.mark.parametrize("kind", ["directory", "file"])
def test_a_swapper_does_not_lead_the_group_out_of_the_volume(tmp_path: pathlib.Path, kind: str) -> None:
    volume, outside = tmp_path / "volume", tmp_path / "outside"
    volume.mkdir()
    outside.mkdir(mode=0o700)
    (outside / "secret").touch(mode=0o600)
    own, link = volume / "own", volume / "link"
    if kind == "directory":
        own.mkdir()
        (own / "secret").touch()
    else:
        own.touch()
    link.symlink_to(outside if kind == "directory" else outside / "secret")
    before = owners(outside)
    with exchanging(own, link):
        for _ in range(ROUNDS):
            fs_group.apply(str(volume), GROUP)
            assert owners(outside) == before
    assert volume.stat().st_gid == GROUP
