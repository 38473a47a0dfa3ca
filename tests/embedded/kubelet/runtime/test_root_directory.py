"""RootDirectory: no path leads out of the directory, and none takes more than a few descriptors."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import resource
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.embedded.kubelet.runtime.swapper import exchanging

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import PATH_MAX, Resolve, RootDirectory

LONGEST = "a/" * (PATH_MAX // 2 - 1)
DESCRIPTORS = 10
"""Of a process that has its three streams and opens the longest path."""
MOST_TIMES = 200_000
"""About one attempt in fifty meets the exchange, fewer on a busy machine."""

OPEN = """import os, sys
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import Resolve, RootDirectory
root = RootDirectory(sys.argv[1], Resolve[sys.argv[2]])
print(os.fstat(root.open(sys.argv[3], make="directory")).st_ino)
"""


@pytest.fixture
def deep(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A directory for trees that pytest itself could not remove."""
    (tmp_path / "deep").mkdir()
    yield tmp_path / "deep"
    removal.remove_tree(tmp_path / "deep")


def opened(directory: pathlib.Path, resolve: Resolve, path: str) -> int:
    """The inode at the path, which a process with few descriptors has opened and created."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

    command = [sys.executable, "-c", OPEN, str(directory), resolve.name, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def failure(directory: pathlib.Path, path: str, resolve: Resolve = Resolve.IN_ROOT, make: str = "") -> int:
    with contextlib.closing(RootDirectory(str(directory), resolve)) as root, pytest.raises(OSError) as error:
        os.close(root.open(path, make=make))
    return error.value.errno or 0


@pytest.mark.parametrize("resolve", Resolve)
def test_the_longest_path_takes_few_descriptors(deep: pathlib.Path, resolve: Resolve) -> None:
    first = opened(deep, resolve, LONGEST)
    assert opened(deep, resolve, LONGEST) == first


@pytest.mark.parametrize("resolve", [Resolve.IN_ROOT, Resolve.BENEATH])
def test_the_way_back_leads_to_the_same_directories(deep: pathlib.Path, resolve: Resolve) -> None:
    names = PATH_MAX // 5 - 1
    assert opened(deep, resolve, "a/" * names + "../" * names) == deep.stat().st_ino


@pytest.mark.parametrize("make", ["", "directory", "file"])
def test_a_path_that_is_too_long_is_an_error_and_creates_nothing(tmp_path: pathlib.Path, make: str) -> None:
    for path in (LONGEST + "aa", "a/" * 20_000, "/" * 20_000, "é" * (PATH_MAX // 2)):
        assert failure(tmp_path, path, make=make) == errno.ENAMETOOLONG
    assert not list(tmp_path.iterdir())


def test_a_path_that_no_file_can_have_is_an_error(tmp_path: pathlib.Path) -> None:
    assert failure(tmp_path, "a\0b", make="directory") == errno.EINVAL
    assert failure(tmp_path, "a\ud800", make="directory") == errno.EILSEQ


def test_errors_leave_no_descriptor_open(tmp_path: pathlib.Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "file").touch()
    before = os.listdir("/proc/self/fd")
    for path in ("loop", "out", "../x", "file/x", "none/x", "a" * 300, LONGEST + "aa"):
        assert failure(tmp_path, path, Resolve.BENEATH)
    assert failure(tmp_path, "a/b/file/" + "x" * 256, make="directory") == errno.ENAMETOOLONG
    assert os.listdir("/proc/self/fd") == before


def test_links_that_lead_back_and_forth_end_where_the_kernel_ends(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/up").symlink_to("../../a/./b/../b")
    (tmp_path / "a/b/top").symlink_to("/a/../a")
    with contextlib.closing(RootDirectory(str(tmp_path))) as root:
        for path, expected in (("a/b/up/up/..", "a"), ("a/b/top/b/../..", "."), ("a/b/../../../../a/b", "a/b")):
            found = root.open(path)
            assert os.fstat(found).st_ino == (tmp_path / expected).stat().st_ino, path
            os.close(found)


def test_a_directory_that_is_moved_meanwhile_does_not_lead_out(tmp_path: pathlib.Path) -> None:
    """Another process exchanges the directory below with one outside, whose parent is another."""
    top, outside = tmp_path / "top", tmp_path / "outside"
    for path in (top / "a", outside / "b"):
        path.mkdir(parents=True)
    (outside / "secret").touch()
    failures = 0
    with contextlib.closing(RootDirectory(str(top), Resolve.BENEATH)) as root, exchanging(top / "a", outside / "b"):
        for _ in range(MOST_TIMES):
            with pytest.raises(OSError) as error:
                os.close(root.open("a/../secret"))
            assert error.value.errno in (errno.ESTALE, errno.ENOENT)
            failures += error.value.errno == errno.ESTALE
            if failures == 3:
                break
    assert failures, "no attempt met the exchange"
