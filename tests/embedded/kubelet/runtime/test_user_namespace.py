from __future__ import annotations

import os
import pathlib
import shutil

import pytest
from tests.embedded.kubelet.runtime.rootfs_harness import drop_root, run_in_fork
from tests.embedded.kubelet.runtime.test_credentials import configure_subordinate_ids

from traincrew.embedded.kubelet.runtime import isolation, syscalls, user_namespace
from traincrew.embedded.kubelet.runtime.spec import Isolation


def print_ids() -> None:
    mapping = user_namespace.enter()
    print(os.getuid(), os.getgid(), mapping.users, mapping.groups, mapping.why, flush=True)


def test_an_ordinary_user_is_root_in_the_namespace_and_missing_ids_are_reported() -> None:
    def body() -> None:
        drop_root(Isolation.USER)
        print_ids()

    words = run_in_fork(body).words

    assert words[:4] == ["0", "0", "1", "1"]
    assert " ".join(words[4:]).startswith("no subordinate ids: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="ids are lent by root")
@pytest.mark.skipif(shutil.which("newuidmap") is None, reason="newuidmap is not installed (package uidmap)")
def test_all_subordinate_ids_are_mapped(tmp_path: pathlib.Path) -> None:
    def body() -> None:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
        configure_subordinate_ids(tmp_path)
        drop_root(Isolation.USER)
        print_ids()

    assert run_in_fork(body).words == ["0", "0", "65537", "65537"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has all ids")
def test_root_keeps_all_ids() -> None:
    words = run_in_fork(print_ids).words

    assert int(words[2]) > 65536


def test_ranges_are_found_by_name_and_by_number(tmp_path: pathlib.Path) -> None:
    table = tmp_path / "subuid"
    table.write_text("alice:1000:10\nbob:2000:20\n7:3000:30\nalice:x:1\nalice:5000:0\n")

    assert user_namespace.subordinate_ranges(str(table), 7, "alice") == [(1000, 10), (3000, 30)]
    assert user_namespace.subordinate_ranges(str(tmp_path / "none"), 7, "alice") == []


def test_root_has_the_best_level_and_an_ordinary_user_the_second() -> None:
    if os.geteuid() == 0:
        assert isolation.probe() == isolation.IsolationProbe(Isolation.ROOT)
    else:
        assert isolation.probe() == isolation.IsolationProbe(Isolation.USER, {Isolation.ROOT: "needs root"})


@pytest.mark.parametrize("level", Isolation)
def test_a_probe_of_a_level_leaves_nothing_behind(tmp_path: pathlib.Path, level: Isolation) -> None:
    if level is not Isolation.ROOT or os.geteuid() == 0:
        assert isolation.check(level, str(tmp_path)) == ""
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in pathlib.Path("/proc/self/mountinfo").read_text()


def test_a_namespace_limit_is_reported_with_the_remedy(tmp_path: pathlib.Path) -> None:
    """Within a user namespace whose limit is 0."""

    def body() -> None:
        drop_root(Isolation.USER)
        user_namespace.enter()
        pathlib.Path("/proc/sys/user/max_user_namespaces").write_text("0")
        isolation.trial_main("user", str(tmp_path))

    out = run_in_fork(body).out

    assert "[ENOSPC]" in out
    assert "user.max_user_namespaces" in out


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no rights to lose")
def test_root_without_capabilities_is_reported(tmp_path: pathlib.Path) -> None:
    def body() -> None:
        syscalls.drop_from_bounding(21)
        effective, permitted, _ = syscalls.capget()
        syscalls.capset(effective & ~(1 << 21), permitted & ~(1 << 21), 0)
        isolation.trial_main("root", str(tmp_path))

    out = run_in_fork(body).out

    assert "cannot create a mount namespace" in out
    assert "[EPERM]" in out
    assert "--privileged" in out
