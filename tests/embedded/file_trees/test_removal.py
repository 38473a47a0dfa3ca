"""Removal of trees that a pod has prepared to resist it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator

import pytest
from tests.embedded.file_trees.hostile_trees import dig, exchange_for_ever, exit_with
from tests.embedded.kubelet.runtime.rootfs_harness import ORDINARY_UID, run_in_fork

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.runtime import syscalls


@pytest.fixture
def visible() -> Iterator[pathlib.Path]:
    """A directory whose parents other users can enter, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as path:
        yield pathlib.Path(path)


def test_a_tree_is_removed_with_its_content(tmp_path: pathlib.Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / "file").write_text("x")
    os.mkfifo(tmp_path / "tree/fifo")

    removal.remove_tree(str(tmp_path / "tree"))

    assert list(tmp_path.iterdir()) == []


def test_a_missing_path_is_ignored(tmp_path: pathlib.Path) -> None:
    removal.remove_tree(str(tmp_path / "none"))


def test_a_file_or_symlink_is_removed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to("file")

    removal.remove_tree(str(tmp_path / "link"))

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("target", ["/", "../kept", ".."])
def test_symlinks_are_not_followed(tmp_path: pathlib.Path, target: str) -> None:
    (tmp_path / "kept/inner").mkdir(parents=True)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/link").symlink_to(target)

    removal.remove_tree(str(tmp_path / "tree"))

    assert (tmp_path / "kept/inner").is_dir()
    assert not (tmp_path / "tree").exists()


def test_inaccessible_directories_are_removed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "tree/closed/inner").mkdir(parents=True)
    (tmp_path / "tree/closed").chmod(0)

    removal.remove_tree(str(tmp_path / "tree"))

    assert not (tmp_path / "tree").exists()


def test_a_tree_deeper_than_the_limits_of_paths_and_descriptors_is_removed(tmp_path: pathlib.Path) -> None:
    dig(tmp_path, 3000)

    removal.remove_tree(str(tmp_path / "d"))

    assert list(tmp_path.iterdir()) == []


def test_a_comb_of_many_directories_with_content_is_removed(tmp_path: pathlib.Path) -> None:
    """More entries than are read at once, files and directories mixed."""
    for number in range(1100):
        (tmp_path / f"tree/{number}").mkdir(parents=True)
        (tmp_path / f"tree/{number}/file").touch()
        (tmp_path / f"tree/file-{number}").touch()

    removal.remove_tree(tmp_path / "tree")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\nb", b"\x1b[31m", b"-rf", b" ", b"\\", b"x" * 255, "名".encode()])
def test_a_name_of_any_bytes_is_removed(tmp_path: pathlib.Path, name: bytes) -> None:
    os.makedirs(os.path.join(os.fsencode(tmp_path), b"tree", name, name))

    removal.remove_tree(tmp_path / "tree")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="the flags need CAP_LINUX_IMMUTABLE")
@pytest.mark.parametrize("flags", ["+i", "+a"])
def test_immutable_files_and_directories_are_removed(tmp_path: pathlib.Path, flags: str) -> None:
    (tmp_path / "tree/inner/empty").mkdir(parents=True)
    (tmp_path / "tree/inner/file").touch()
    paths = [tmp_path / "tree" / name for name in ("inner/file", "inner/empty", "inner", "")]
    done = subprocess.run(["chattr", flags, *paths], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"this file system has no such flag: {done.stderr.decode()}")

    removal.remove_tree(tmp_path / "tree")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mknod needs root")
def test_devices_and_sockets_are_removed_and_not_opened(tmp_path: pathlib.Path) -> None:
    (tmp_path / "tree").mkdir()
    os.mknod(tmp_path / "tree/whiteout", stat.S_IFCHR, os.makedev(0, 0))
    os.mknod(tmp_path / "tree/tape", stat.S_IFCHR, os.makedev(9, 0))
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "tree/socket"))

    removal.remove_tree(tmp_path / "tree")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_entries_that_cannot_be_removed_do_not_keep_the_others(visible: pathlib.Path) -> None:
    """As an ordinary user: a directory of root remains, with its content."""
    (visible / "tree/foreign/inner").mkdir(parents=True)
    (visible / "tree/own/inner").mkdir(parents=True)
    for name in ("", "tree", "tree/own", "tree/own/inner"):
        os.chown(visible / name, ORDINARY_UID, ORDINARY_UID)

    def body() -> None:
        os.setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID)
        with pytest.raises(removal.NotRemoved, match="inner cannot be removed: Permission denied"):
            removal.remove_tree(visible / "tree")

    outcome = run_in_fork(body)

    assert (outcome.code, outcome.out) == (0, "")
    assert sorted(path.name for path in (visible / "tree").rglob("*")) == ["foreign", "inner"]


def test_a_tree_that_is_swapped_with_a_link_meanwhile_does_not_lead_out(tmp_path: pathlib.Path) -> None:
    """Another process exchanges a directory with a symbolic link again and again."""
    (tmp_path / "kept/inner").mkdir(parents=True)
    for number in range(200):
        (tmp_path / f"tree/swapped/{number}/inner").mkdir(parents=True)
    (tmp_path / "tree/link").symlink_to("../kept")
    swapper = os.fork()
    if swapper == 0:
        exchange_for_ever(tmp_path / "tree/swapped", tmp_path / "tree/link")
    try:
        while (tmp_path / "tree").exists():
            with contextlib.suppress(removal.NotRemoved):
                removal.remove_tree(tmp_path / "tree")
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)
    assert (tmp_path / "kept/inner").is_dir()


def test_two_processes_remove_a_tree_at_the_same_time(tmp_path: pathlib.Path) -> None:
    for number in range(300):
        (tmp_path / f"tree/{number % 7}/{number}/inner").mkdir(parents=True)

    other = os.fork()
    if other == 0:
        exit_with(lambda: removal.remove_tree(tmp_path / "tree"))
    removal.remove_tree(tmp_path / "tree")

    assert os.waitpid(other, 0)[1] == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("same_file_system", [True, False])
def test_mounts_within_the_tree_are_kept(tmp_path: pathlib.Path, same_file_system: bool) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("kept")
    (tmp_path / "tree/mount").mkdir(parents=True)

    def body() -> None:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
        if not same_file_system:
            syscalls.mount("tmpfs", str(tmp_path / "kept"), "tmpfs")
            (tmp_path / "kept/file").write_text("kept")
        syscalls.mount(str(tmp_path / "kept"), str(tmp_path / "tree/mount"), "", syscalls.MS_BIND)
        (tmp_path / "tree/beside").mkdir()
        with pytest.raises(removal.NotRemoved, match="mount is a mount"):
            removal.remove_tree(str(tmp_path / "tree"))
        assert (tmp_path / "kept/file").read_text() == "kept"
        assert [path.name for path in (tmp_path / "tree").iterdir()] == ["mount"]

    outcome = run_in_fork(body)

    assert (outcome.code, outcome.out) == (0, "")
