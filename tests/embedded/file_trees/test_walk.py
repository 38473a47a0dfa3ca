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


def test_every_entry_is_visited_once(place: pathlib.Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (place / name).mkdir(parents=True)
        (place / name / "file").touch()
    (place / "link").symlink_to("a")
    names = sorted(entry.name for entry in walk.walk(place))
    assert names == ["a", "b", "c", "d", "e", "file", "file", "file", "link"]


def test_links_lead_nowhere(place: pathlib.Path) -> None:
    (place / "tree").mkdir()
    (place / "outside/inner").mkdir(parents=True)
    (place / "tree/link").symlink_to("../outside")
    assert [(entry.name, entry.is_directory) for entry in walk.walk(place / "tree")] == [("link", False)]


def test_the_usage_of_a_very_deep_tree_is_measured(place: pathlib.Path) -> None:
    before = ephemeral_storage.disk_usage(place)
    dig(place, DEPTH, bytes(1 << 20))
    assert ephemeral_storage.disk_usage(place) - before >= 1 << 20


def test_the_logs_of_a_pod_are_measured_and_removed_however_deep_they_are(place: pathlib.Path) -> None:
    logs = place / "default_pod_0000"
    logs.mkdir()
    dig(logs, DEPTH, b"x" * 4000)
    removed = retention.sweep(place, (), retention.LogRetention(days=7.0, bytes=1), 0.0)
    assert [each.bytes for each in removed] == [4000]
    assert list(place.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to another group")
def test_a_very_deep_tree_is_given_to_a_group(place: pathlib.Path) -> None:
    dig(place, DEPTH, b"x")
    fs_group.apply(str(place), 4321)
    assert {entry.status.st_gid for entry in walk.walk(place)} == {4321}


def test_a_name_of_any_bytes_is_visited(place: pathlib.Path) -> None:
    name = b"\xff\x1b[31m\n"
    os.makedirs(os.path.join(os.fsencode(place), name, b"inner"))
    assert [os.fsencode(entry.name) for entry in walk.walk(place)] == [name, b"inner"]


def test_a_tree_that_changes_meanwhile_does_not_lead_out(place: pathlib.Path) -> None:
    """Another process exchanges a directory deep in the tree with one outside, so that `..` leads elsewhere."""
    (place / "tree/a/swapped/b/c").mkdir(parents=True)
    (place / "outside/swapped/b/c").mkdir(parents=True)
    (place / "outside/secret").touch()
    swapper = os.fork()
    if swapper == 0:
        exchange_for_ever(place / "tree/a/swapped", place / "outside/swapped")
    try:
        for _ in range(2000):
            assert "secret" not in {entry.name for entry in walk.walk(place / "tree")}
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_mounts_are_not_entered(place: pathlib.Path) -> None:
    (place / "outside/secret").mkdir(parents=True)
    (place / "tree/mount").mkdir(parents=True)

    def body() -> None:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
        syscalls.mount(str(place / "outside"), str(place / "tree/mount"), "", syscalls.MS_BIND)
        assert [entry.name for entry in walk.walk(place / "tree")] == ["mount"]

    outcome = run_in_fork(body)

    assert (outcome.code, outcome.out) == (0, "")


def test_a_missing_directory_is_an_error(place: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(walk.walk(place / "none"))
