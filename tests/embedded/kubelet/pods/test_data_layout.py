"""The directories of the kubelet: what an earlier release has left does not stop a start."""

from __future__ import annotations

import logging
import os
import pathlib
import subprocess

import pytest

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.runtime import spec
from traincrew.embedded.kubelet.runtime_setup import DataLayout

DEPTH = 1500


def nested(path: pathlib.Path) -> None:
    path.mkdir(parents=True)
    directory = os.open(path, os.O_RDONLY)
    for _ in range(DEPTH):
        os.mkdir("d", dir_fd=directory)
        below = os.open("d", os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = below
    os.close(directory)


def test_a_former_directory_of_exec_sockets_of_any_depth_is_removed(tmp_path: pathlib.Path) -> None:
    layout = DataLayout(tmp_path / "data")
    former = layout.node / spec.FORMER_EXEC_SOCKETS
    nested(former)
    try:
        layout.create()
        assert not former.exists()
    finally:
        removal.remove_tree(former)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_a_former_directory_that_cannot_be_removed_is_logged_and_the_start_goes_on(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    layout = DataLayout(tmp_path / "data")
    mounted = layout.node / spec.FORMER_EXEC_SOCKETS / "mounted"
    mounted.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", mounted], check=True)
    try:
        with caplog.at_level(logging.WARNING):
            layout.create()
    finally:
        subprocess.run(["umount", mounted], check=True)
    assert layout.pods.is_dir()
    assert "cannot remove the former directory of exec sockets" in caplog.text
