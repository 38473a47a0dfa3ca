"""Removal of trees that a pod has prepared to resist it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import stat
import subprocess

import pytest
from tests.embedded.file_trees.hostile_trees import dig, exchange_for_ever, exit_with
from tests.embedded.kubelet.runtime.rootfs_harness import ORDINARY_UID, run_in_fork

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.runtime import syscalls


def test_a_tree_is_removed_with_its_content(place: pathlib.Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (place / "tree" / name).mkdir(parents=True)
        (place / "tree" / name / "file").write_text("x")
    os.mkfifo(place / "tree/fifo")

    removal.remove_tree(str(place / "tree"))

    assert list(place.iterdir()) == []


def test_a_missing_path_is_ignored(place: pathlib.Path) -> None:
    removal.remove_tree(str(place / "none"))


def test_a_file_or_symlink_is_removed(place: pathlib.Path) -> None:
    (place / "file").write_text("kept")
    (place / "link").symlink_to("file")

    removal.remove_tree(str(place / "link"))

    assert [path.name for path in place.iterdir()] == ["file"]


@pytest.mark.parametrize("target", ["/", "../kept", ".."])
def test_symlinks_are_not_followed(place: pathlib.Path, target: str) -> None:
    (place / "kept/inner").mkdir(parents=True)
    (place / "tree").mkdir()
    (place / "tree/link").symlink_to(target)

    removal.remove_tree(str(place / "tree"))

    assert (place / "kept/inner").is_dir()
    assert not (place / "tree").exists()


def test_inaccessible_directories_are_removed(place: pathlib.Path) -> None:
    (place / "tree/closed/inner").mkdir(parents=True)
    (place / "tree/closed").chmod(0)

    removal.remove_tree(str(place / "tree"))

    assert not (place / "tree").exists()


def test_a_tree_deeper_than_the_limits_of_paths_and_descriptors_is_removed(place: pathlib.Path) -> None:
    dig(place, 3000)

    removal.remove_tree(str(place / "d"))

    assert list(place.iterdir()) == []


def test_a_comb_of_many_directories_with_content_is_removed(place: pathlib.Path) -> None:
    """More entries than are read at once, files and directories mixed."""
    for number in range(1100):
        (place / f"tree/{number}").mkdir(parents=True)
        (place / f"tree/{number}/file").touch()
        (place / f"tree/file-{number}").touch()

    removal.remove_tree(place / "tree")

    assert list(place.iterdir()) == []


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\nb", b"\x1b[31m", b"-rf", b" ", b"\\", b"x" * 255, "名".encode()])
def test_a_name_of_any_bytes_is_removed(place: pathlib.Path, name: bytes) -> None:
    os.makedirs(os.path.join(os.fsencode(place), b"tree", name, name))

    removal.remove_tree(place / "tree")

    assert list(place.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="the flags need CAP_LINUX_IMMUTABLE")
@pytest.mark.parametrize("flags", ["+i", "+a"])
def test_immutable_files_and_directories_are_removed(place: pathlib.Path, flags: str) -> None:
    (place / "tree/inner/empty").mkdir(parents=True)
    (place / "tree/inner/file").touch()
    paths = [place / "tree" / name for name in ("inner/file", "inner/empty", "inner", "")]
    done = subprocess.run(["chattr", flags, *paths], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"this file system has no such flag: {done.stderr.decode()}")

    removal.remove_tree(place / "tree")

    assert list(place.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mknod needs root")
def test_devices_and_sockets_are_removed_and_not_opened(place: pathlib.Path) -> None:
    (place / "tree").mkdir()
    os.mknod(place / "tree/whiteout", stat.S_IFCHR, os.makedev(0, 0))
    os.mknod(place / "tree/tape", stat.S_IFCHR, os.makedev(9, 0))
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(place / "tree/socket"))

    removal.remove_tree(place / "tree")

    assert list(place.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_entries_that_cannot_be_removed_do_not_keep_the_others(place: pathlib.Path) -> None:
    """As an ordinary user: a directory of root remains, with its content."""
    (place / "tree/foreign/inner").mkdir(parents=True)
    (place / "tree/own/inner").mkdir(parents=True)
    for name in ("", "tree", "tree/own", "tree/own/inner"):
        os.chown(place / name, ORDINARY_UID, ORDINARY_UID)

    def body() -> None:
        os.setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID)
        with pytest.raises(removal.NotRemoved, match="inner cannot be removed: Permission denied"):
            removal.remove_tree(place / "tree")

    outcome = run_in_fork(body)

    assert (outcome.code, outcome.out) == (0, "")
    assert sorted(path.name for path in (place / "tree").rglob("*")) == ["foreign", "inner"]


def test_a_tree_that_is_swapped_with_a_link_meanwhile_does_not_lead_out(place: pathlib.Path) -> None:
    """Another process exchanges a directory with a symbolic link again and again."""
    (place / "kept/inner").mkdir(parents=True)
    for number in range(200):
        (place / f"tree/swapped/{number}/inner").mkdir(parents=True)
    (place / "tree/link").symlink_to("../kept")
    swapper = os.fork()
    if swapper == 0:
        exchange_for_ever(place / "tree/swapped", place / "tree/link")
    try:
        while (place / "tree").exists():
            with contextlib.suppress(removal.NotRemoved):
                removal.remove_tree(place / "tree")
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)
    assert (place / "kept/inner").is_dir()


def test_two_processes_remove_a_tree_at_the_same_time(place: pathlib.Path) -> None:
    for number in range(300):
        (place / f"tree/{number % 7}/{number}/inner").mkdir(parents=True)

    other = os.fork()
    if other == 0:
        exit_with(lambda: removal.remove_tree(place / "tree"))
    removal.remove_tree(place / "tree")

    assert os.waitpid(other, 0)[1] == 0
    assert list(place.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("same_file_system", [True, False])
def test_mounts_within_the_tree_are_kept(place: pathlib.Path, same_file_system: bool) -> None:
    (place / "kept").mkdir()
    (place / "kept/file").write_text("kept")
    (place / "tree/mount").mkdir(parents=True)

    def body() -> None:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
        if not same_file_system:
            syscalls.mount("tmpfs", str(place / "kept"), "tmpfs")
            (place / "kept/file").write_text("kept")
        syscalls.mount(str(place / "kept"), str(place / "tree/mount"), "", syscalls.MS_BIND)
        (place / "tree/beside").mkdir()
        with pytest.raises(removal.NotRemoved, match="mount is a mount"):
            removal.remove_tree(str(place / "tree"))
        assert (place / "kept/file").read_text() == "kept"
        assert [path.name for path in (place / "tree").iterdir()] == ["mount"]

    outcome = run_in_fork(body)

    assert (outcome.code, outcome.out) == (0, "")
