from __future__ import annotations

import os
import pathlib

import pytest
from tests.embedded.kubelet.runtime.rootfs_harness import run_in_fork

from traincrew.embedded.kubelet.runtime import syscalls, tree_removal


def test_a_tree_is_removed_with_its_content(tmp_path: pathlib.Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / "file").write_text("x")
    os.mkfifo(tmp_path / "tree/fifo")

    tree_removal.remove_tree(str(tmp_path / "tree"))

    assert list(tmp_path.iterdir()) == []


def test_a_missing_path_is_ignored(tmp_path: pathlib.Path) -> None:
    tree_removal.remove_tree(str(tmp_path / "none"))


def test_a_file_or_symlink_is_removed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to("file")

    tree_removal.remove_tree(str(tmp_path / "link"))

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("target", ["/", "../kept", ".."])
def test_symlinks_are_not_followed(tmp_path: pathlib.Path, target: str) -> None:
    (tmp_path / "kept/inner").mkdir(parents=True)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/link").symlink_to(target)

    tree_removal.remove_tree(str(tmp_path / "tree"))

    assert (tmp_path / "kept/inner").is_dir()
    assert not (tmp_path / "tree").exists()


def test_inaccessible_directories_are_removed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "tree/closed/inner").mkdir(parents=True)
    (tmp_path / "tree/closed").chmod(0)

    tree_removal.remove_tree(str(tmp_path / "tree"))

    assert not (tmp_path / "tree").exists()


def test_a_tree_deeper_than_the_limits_of_paths_and_descriptors_is_removed(tmp_path: pathlib.Path) -> None:
    def dig() -> None:
        os.chdir(tmp_path)
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")

    assert run_in_fork(dig).code == 0

    tree_removal.remove_tree(str(tmp_path / "d"))

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
        with pytest.raises(tree_removal.NotRemoved, match="mount is a mount"):
            tree_removal.remove_tree(str(tmp_path / "tree"))
        assert (tmp_path / "kept/file").read_text() == "kept"

    outcome = run_in_fork(body)

    assert (outcome.code, outcome.out) == (0, "")
