"""The remote shell of an elastic launcher: it ends when its worker is lost, and disconnects the others from lost workers."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import uuid

import msgspec
import pytest
from tests.cluster.api import eventually
from tests.kinds.replicas import defaulted
from tests.planner import manifests

from traincrew.kinds.horovod import lost_peers
from traincrew.kinds.mpi import files
from traincrew.model import objects
from traincrew.model.observed import Observed

KUBECTL = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""
CONNECTED = """
import socket
listeners = [socket.create_server((address, 0)) for address in ("127.0.0.2", "127.0.0.3")]
pairs = [(socket.create_connection(each.getsockname()), each.accept()[0]) for each in listeners]
print("connected", flush=True)
print("lost:", pairs[0][0].recv(1), flush=True)
pairs[1][1].send(b"x")
print("other:", pairs[1][0].recv(1), flush=True)
"""

BUSY = """
import socket, threading
def open_and_close():
    while True:
        for each in [socket.socket() for number in range(200)]: each.close()
for number in range(4): threading.Thread(target=open_and_close, daemon=True).start()
"""


@pytest.fixture
def mount(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "kubectl").write_text(KUBECTL)
    (tmp_path / "kubectl").chmod(0o755)
    (tmp_path / lost_peers.FILE).write_text(lost_peers.program())
    (tmp_path / "discover_hosts.sh").write_text("#!/bin/sh\n")
    lines = ("#!/bin/sh", "POD_NAME=$1", "shift", *lost_peers.remote_shell(str(tmp_path), f"{tmp_path}/kubectl exec $POD_NAME"))
    (tmp_path / "kubexec.sh").write_text("\n".join(lines))
    return tmp_path


def _execute(mount: pathlib.Path, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["sh", str(mount / "kubexec.sh"), "j-worker-0", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _lose(mount: pathlib.Path, address: str, name: str) -> str:
    uid = str(uuid.uuid4())
    (mount / "discover_hosts.sh").write_text(f"#!/bin/sh\n# lost: {address} {uid} {name}\n")
    return uid


def test_output_and_exit_code_are_those_of_the_command(mount: pathlib.Path) -> None:
    process = _execute(mount, "echo 'a  b'; echo c >&2; exit 7")
    assert process.communicate(timeout=60) == ("a  b\n", "c\n")
    assert process.returncode == 7


def test_a_worker_without_python_runs_the_command_all_the_same(mount: pathlib.Path) -> None:
    (mount / lost_peers.FILE).unlink()
    process = _execute(mount, "echo a; exit 7")
    assert process.communicate(timeout=60) == ("a\n", "")
    assert process.returncode == 7


def test_the_remote_shell_of_a_lost_worker_ends_and_the_worker_leaves_the_list_then(mount: pathlib.Path) -> None:
    uid = _lose(mount, "127.0.0.2", "j-worker-0")
    mark = _mark(uid)
    try:
        process = _execute(mount, "exec sleep 600")
        process.communicate(timeout=60)
        assert process.returncode == 143
        assert mark.read_text().strip().isdecimal()
    finally:
        mark.unlink(missing_ok=True)


@pytest.mark.parametrize("program", [CONNECTED, BUSY + CONNECTED], ids=["idle", "other sockets open and close"])
def test_connections_to_a_lost_peer_are_shut_down_and_no_others(mount: pathlib.Path, program: str) -> None:
    process = _execute(mount, f"{sys.executable} -c {shlex.quote(program)}")
    assert process.stdout is not None
    assert process.stdout.readline() == "connected\n"
    _lose(mount, "127.0.0.2", "j-worker-1")
    output, errors = process.communicate(timeout=60)
    assert (output, errors) == ("lost: b''\nother: b'x'\n", "")


ORPHAN = "trap 'echo ended > {0}; exit 1' TERM; echo > {1}; while sleep 0.1; do :; done"


def test_a_rank_ends_when_its_launcher_is_gone(mount: pathlib.Path) -> None:
    ended, started = mount / "ended", mount / "started"
    process = subprocess.Popen([sys.executable, mount / lost_peers.FILE, ORPHAN.format(ended, started)], stdin=subprocess.PIPE)
    eventually(started.exists)
    process.communicate(timeout=60)
    assert ended.read_text() == "ended\n"


def test_a_rank_ends_when_it_hears_nothing_of_its_launcher(mount: pathlib.Path) -> None:
    ended, started = mount / "ended", mount / "started"
    command = [sys.executable, str(mount / lost_peers.FILE), ORPHAN.format(ended, started)]
    env = {**os.environ, "TRAINCREW_LAUNCHER_SILENCE_SECONDS": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=env) as process:  # nobody writes to its standard input
        assert process.wait(60) == 1
    assert ended.read_text() == "ended\n"


RANK = "trap '' TERM; echo $$ > {0}; echo > {1}; while sleep 0.1; do :; done"


@pytest.mark.parametrize("victim", ["the program", "its shell"])
def test_no_rank_outlives_the_process_that_the_launcher_knows(mount: pathlib.Path, victim: str) -> None:
    """It would disturb the next ring, in which the launcher does not expect it."""
    shell, rank, started = mount / "shell", mount / "rank", mount / "started"
    command = f"echo $$ > {shell}; sh -c {shlex.quote(RANK.format(rank, started))}; :"
    with subprocess.Popen([sys.executable, mount / lost_peers.FILE, command], stdin=subprocess.PIPE) as process:
        eventually(started.exists)
        os.kill(process.pid if victim == "the program" else int(shell.read_text()), signal.SIGKILL)
        process.wait(60)
    try:
        eventually(lambda: not _runs(int(rank.read_text())))
    finally:
        for file in (shell, rank):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(file.read_text()), signal.SIGKILL)


def test_what_a_successful_rank_leaves_behind_is_kept(mount: pathlib.Path) -> None:
    left = mount / "left"
    command = f"sleep 600 > /dev/null 2>&1 & echo $! > {left}"
    with subprocess.Popen([sys.executable, mount / lost_peers.FILE, command], stdin=subprocess.PIPE) as process:
        assert process.wait(60) == 0
    pid = int(left.read_text())
    assert _runs(pid)
    os.kill(pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_ranks_of_an_earlier_launcher_end_before_those_of_another_begin(mount: pathlib.Path) -> None:
    ended, started = mount / "ended", mount / "started"
    heard, launcher = os.pipe()  # open until all have ended
    program = [sys.executable, str(mount / lost_peers.FILE)]
    with (
        os.fdopen(launcher, "wb"),
        os.fdopen(heard, "rb") as stdin,
        subprocess.Popen([*program, ORPHAN.format(ended, started), "launcher-1"], stdin=stdin) as earlier,
    ):
        eventually(started.exists)
        subprocess.run([*program, "true", "launcher-1"], stdin=stdin, check=True)
        assert earlier.poll() is None, "they have one launcher"
        later = subprocess.run([*program, f"cat {ended}", "launcher-2"], stdin=stdin, stdout=subprocess.PIPE, check=True)
        assert later.stdout == b"ended\n"
        assert earlier.wait(60)


def test_a_worker_on_a_lost_node_is_listed_until_its_remote_shell_has_ended() -> None:
    job = manifests.job("MPIJob", Launcher=1, Worker=2)
    launcher = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    launcher["command"] = ["horovodrun", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python", "train.py"]
    there, lost = _worker(0, "True"), _worker(1, "False")
    script = files.exec_files(defaulted(job)[1], Observed(pods=(there, lost)))["discover_hosts.sh"]
    assert script.endswith(f"# lost: 10.0.0.1 {lost.metadata.uid} j-worker-1")
    mark = _mark(lost.metadata.uid)
    assert _hosts(script) == ["j-worker-0:1", "j-worker-1:1"]
    try:
        mark.write_text("1700000000\n")
        assert _hosts(script) == ["j-worker-0:1"]
    finally:
        mark.unlink()


def _worker(index: int, ready: str) -> objects.Pod:
    """A running worker. One whose containers are ready and that is not ready itself is on a lost node."""
    conditions = [{"type": "Ready", "status": ready}, {"type": "ContainersReady", "status": "True"}]
    body = {
        "metadata": {"name": f"j-worker-{index}", "uid": str(uuid.uuid4())},
        "spec": {"nodeName": f"node-{index}"},
        "status": {"phase": "Running", "podIP": f"10.0.0.{index}", "conditions": conditions},
    }
    return msgspec.convert(body, objects.Pod)


def _mark(uid: str) -> pathlib.Path:
    return pathlib.Path(f"/tmp/traincrew-lost-{uid}")  # noqa: S108


def _hosts(script: str) -> list[str]:
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
