"""Walks through trees that a pod has prepared to resist it."""

from __future__ import annotations

import os
import pathlib
import signal

import pytest
from tests.embedded.file_trees.hostile_trees import dig, exchange_for_ever
from tests.embedded.kubelet.runtime.rootfs_harness import run_in_fork

from traincrew.embedded.file_trees import walk
from traincrew.embedded.kubelet.logs import retention
from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.volumes import ephemeral_storage, fs_group

DEPTH = 2200
"""Deeper than the recursion limit of Python. The path of the innermost file is longer than the kernel accepts."""


def test_every_entry_is_visited_once(tmp_path: pathlib.Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").touch()
    (tmp_path / "link").symlink_to("a")
    names = sorted(entry.name for entry in walk.walk(tmp_path))
    assert names == ["a", "b", "c", "d", "e", "file", "file", "file", "link"]


def test_links_lead_nowhere(tmp_path: pathlib.Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "outside/inner").mkdir(parents=True)
    (tmp_path / "tree/link").symlink_to("../outside")
    assert [(entry.name, entry.is_directory) for entry in walk.walk(tmp_path / "tree")] == [("link", False)]


def test_the_usage_of_a_very_deep_tree_is_measured(tmp_path: pathlib.Path) -> None:
    before = ephemeral_storage.disk_usage(tmp_path)
    dig(tmp_path, DEPTH, bytes(1 << 20))
    assert ephemeral_storage.disk_usage(tmp_path) - before >= 1 << 20


def test_the_logs_of_a_pod_are_measured_and_removed_however_deep_they_are(tmp_path: pathlib.Path) -> None:
    logs = tmp_path / "default_pod_0000"
    logs.mkdir()
    dig(logs, DEPTH, b"x" * 4000)
    removed = retention.sweep(tmp_path, (), retention.Retention(bytes=1), 0.0)
    assert [each.bytes for each in removed] == [4000]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to another group")
def test_a_very_deep_tree_is_given_to_a_group(tmp_path: pathlib.Path) -> None:
    dig(tmp_path, DEPTH, b"x")
    fs_group.apply(str(tmp_path), 4321)
    assert {entry.status.st_gid for entry in walk.walk(tmp_path)} == {4321}


def test_a_name_of_any_bytes_is_visited(tmp_path: pathlib.Path) -> None:
    name = b"\xff\x1b[31m\n"
    os.makedirs(os.path.join(os.fsencode(tmp_path), name, b"inner"))
    assert [os.fsencode(entry.name) for entry in walk.walk(tmp_path)] == [name, b"inner"]


def test_a_tree_that_changes_meanwhile_does_not_lead_out(tmp_path: pathlib.Path) -> None:
    """Another process exchanges a directory deep in the tree with one outside, so that `..` leads elsewhere."""
    (tmp_path / "tree/a/swapped/b/c").mkdir(parents=True)
    (tmp_path / "outside/swapped/b/c").mkdir(parents=True)
    (tmp_path / "outside/secret").touch()
    swapper = os.fork()
    if swapper == 0:
        exchange_for_ever(tmp_path / "tree/a/swapped", tmp_path / "outside/swapped")
    try:
        for _ in range(2000):
            assert "secret" not in {entry.name for entry in walk.walk(tmp_path / "tree")}
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_mounts_are_not_entered(tmp_path: pathlib.Path) -> None:
    (tmp_path / "outside/secret").mkdir(parents=True)
    (tmp_path / "tree/mount").mkdir(parents=True)

    def body() -> None:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
        syscalls.mount(str(tmp_path / "outside"), str(tmp_path / "tree/mount"), "", syscalls.MS_BIND)
        assert [entry.name for entry in walk.walk(tmp_path / "tree")] == ["mount"]

    outcome = run_in_fork(body)

    assert (outcome.code, outcome.out) == (0, "")


def test_a_missing_directory_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(walk.walk(tmp_path / "none"))
