"""`traincrew doctor`."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from traincrew.cli.doctor import egress, isolation, leftovers, programs, storage
from traincrew.cli.doctor.check_result import Grade
from traincrew.embedded import data_directory
from traincrew.embedded.kubelet.runtime.host_mounts import HostMount

COMMAND = [sys.executable, "-m", "traincrew.cli.main", "doctor"]


def doctor(data: pathlib.Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "--data", str(data), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **variables})


def test_every_subject_is_checked_and_nothing_is_created(tmp_path: pathlib.Path) -> None:
    done = doctor(tmp_path / "data", "-o", "json")
    found = json.loads(done.stdout)
    subjects = {each["subject"] for each in found}
    assert {
        "data",
        "disk",
        "fsync",
        "isolation",
        "overlay",
        "ids",
        "cgroups",
        "egress",
        "python",
        "kubectl",
        "py-spy",
        "ports",
    } <= subjects
    assert {"clock", "open files", "leftovers"} <= subjects
    assert done.returncode == (1 if any(each["grade"] == "fail" for each in found) else 0)
    assert all(each["remedy"] for each in found if each["grade"] != "ok")
    assert list(tmp_path.iterdir()) == []


def test_the_text_has_a_line_and_a_remedy_for_each_finding(tmp_path: pathlib.Path) -> None:
    done = doctor(tmp_path, PATH="/nonexistent")
    line = next(each for each in done.stdout.splitlines() if "kubectl" in each)
    assert line.split() == ["warn", "kubectl", "not", "in", "PATH"]
    assert "→ traincrew works without kubectl." in done.stdout


def test_a_directory_that_is_not_writable_fails(tmp_path: pathlib.Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    # Root writes anywhere but where nobody can.
    found = list(storage.check(pathlib.Path("/proc/self/nowhere") if os.geteuid() == 0 else closed / "data"))
    assert found[-1].grade is Grade.FAIL
    assert "--data DIR" in found[-1].remedy


@pytest.mark.parametrize(("kind", "grade"), [("ext4", Grade.OK), ("tmpfs", Grade.WARN), ("nfs4", Grade.FAIL)])
def test_the_file_system_is_that_of_the_innermost_mount(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, kind: str, grade: Grade
) -> None:
    mounts = (HostMount(1, 0, "/", "ext4", True), HostMount(2, 1, str(tmp_path.resolve()), kind, True))
    assert storage.file_system_of(tmp_path / "data", mounts) == kind
    monkeypatch.setattr("traincrew.embedded.kubelet.runtime.host_mounts.read", lambda table="": mounts)
    assert next(iter(storage.check(tmp_path / "data"))).grade is grade


def test_a_clock_behind_the_newest_files_fails(tmp_path: pathlib.Path) -> None:
    (tmp_path / "kubeconfig").touch()
    written = (tmp_path / "kubeconfig").stat().st_mtime
    assert programs.clock(tmp_path, written + 1).grade is Grade.OK
    assert programs.clock(tmp_path, written - 3600).grade is Grade.FAIL


def test_a_port_in_use_is_reported(tmp_path: pathlib.Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (tmp_path / "kubeconfig").write_text(f"    server: https://127.0.0.1:{port}\n")
        found = {each.subject: each for each in programs.check(data_directory.DataDirectory(tmp_path))}
    assert found["ports"].grade is Grade.WARN
    assert str(port) in found["ports"].message


def test_probed_abilities_are_reported(tmp_path: pathlib.Path) -> None:
    found = {each.subject: each for each in isolation.check(tmp_path)}
    assert list(found) == ["isolation", "overlay", "ids", "cgroups"]
    assert list(tmp_path.iterdir()) == []


def test_egress_works_or_the_remedy_says_what_is_missing() -> None:
    found = egress.check()
    assert found.subject == "egress"
    if found.grade is Grade.OK:
        assert found.message.startswith("pods reach external networks ")
        assert found.remedy == ""
    else:
        assert found.grade is Grade.WARN
        assert found.message.startswith("pods cannot reach external networks: ")
        missing_router = "neither pasta nor slirp4netns" in found.message
        expected = "Install passt" if missing_router else "(this allows every user of this machine to create tunnels)"
        assert expected in found.remedy


def test_processes_of_a_cluster_are_identified_by_their_directories() -> None:
    uid = "1f84fefd-84af-4485-b0ab-a972b4391329"
    shim = leftovers.Process(7, f"/data/x/node/pods/{uid} (deleted)", False)
    assert (shim.data, shim.uid) == ("/data/x", uid)
    assert leftovers.Process(8, "/data/x/node", True).data == "/data/x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees other users' processes")
@pytest.mark.parametrize("user", [0, 54321])
def test_leftovers_name_their_owner_and_the_command_that_removes_them(tmp_path: pathlib.Path, user: int) -> None:
    node = tmp_path / "node"
    node.mkdir()
    words = ["/bin/sh", "-c", "read until_the_end", "traincrew.embedded.kubelet.network.netns_launcher"]
    with subprocess.Popen(words, cwd=node, user=user, stdin=subprocess.PIPE) as left:
        try:
            (found,) = [each for each in leftovers.check(tmp_path) if str(tmp_path) in each.message]
        finally:
            left.kill()
    assert f"kill -9 {left.pid}" in found.remedy
    assert ("of user 54321 in" in found.message, "Ask user 54321" in found.remedy) == (user != 0, user != 0)
