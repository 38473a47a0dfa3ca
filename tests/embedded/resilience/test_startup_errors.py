"""`traincrew up` that cannot start: one line with the reason and the path, the exit code of a user error, no data lost."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator

import pytest
from tests.embedded.apiserver.storage.disk_failures import full_disk, small_file_system
from tests.embedded.resilience.cluster_process import TRAINCREW, ClusterProcess, running, traincrew

from traincrew.embedded.data_directory import DataDirectory

NOT_RUNNING, USER_ERROR = 1, 2
"""Exit codes: there is no cluster, as after a failed `up --detach`; a setting is wrong."""
WITHOUT_CAPABILITIES = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner")
"""Root without the capabilities that override the permissions of files."""


def startup_error(*arguments: str | pathlib.Path, before: tuple[str, ...] = ()) -> str:
    """The error message: one line."""
    done = traincrew(*arguments, before=before)
    assert done.returncode in (NOT_RUNNING, USER_ERROR), done
    assert done.stderr.startswith("error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture(params=["in the foreground", "detached"])
def flags(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return ("up", "--detach") if request.param == "detached" else ("up",)


def test_a_file_in_place_of_the_directory_is_an_error(tmp_path: pathlib.Path, flags: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("mine")
    assert f"{tmp_path}/file: File exists. " in startup_error(*flags, "--data", tmp_path / "file")
    assert f"{tmp_path}/file/below: Not a directory. " in startup_error(*flags, "--data", tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_read_only_directory_is_an_error(tmp_path: pathlib.Path, flags: tuple[str, ...]) -> None:
    with small_file_system(tmp_path / "small"):
        subprocess.run(["mount", "-o", "remount,ro", tmp_path / "small"], check=True)
        assert "Read-only file system" in startup_error(*flags, "--data", tmp_path / "small")
        assert "Read-only file system" in startup_error(*flags, "--data", tmp_path / "small" / "below")


@pytest.fixture
def other_users_directory(tmp_path: pathlib.Path) -> pathlib.Path:
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root can make a directory of another user")
    (tmp_path / "other").mkdir(mode=0o700)
    os.chown(tmp_path / "other", 65534, 65534)
    return tmp_path / "other"


@pytest.mark.parametrize("verb", ["up", "down", "status", "env", "kubeconfig"])
def test_a_directory_of_another_user_is_an_error(other_users_directory: pathlib.Path, verb: str) -> None:
    message = startup_error(verb, "--data", other_users_directory, before=WITHOUT_CAPABILITIES)
    reason = f"{other_users_directory} belongs to another user and cannot be read."
    assert message == f"error: {reason} Name your own data directory with --data DIR.\n"


def test_a_full_disk_is_an_error_and_the_next_start_with_space_succeeds(tmp_path: pathlib.Path, flags: tuple[str, ...]) -> None:
    data = tmp_path / "small"
    with small_file_system(data):
        with full_disk(data):
            message = startup_error(*flags, "--data", data)
            assert f"{data}/cluster.db: no space left on the file system" in message
        with running(data) as cluster:
            assert cluster.stop() == 0


@pytest.fixture(scope="module")
def stopped_cluster(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The data directory of a cluster that was stopped."""
    data = tmp_path_factory.mktemp("used") / "data"
    with running(data) as cluster:
        assert cluster.stop() == 0
    return data


def _garbled(file: pathlib.Path) -> None:
    file.write_bytes(os.urandom(100_000))


def _truncated(file: pathlib.Path) -> None:
    os.truncate(file, 20_000)


def _emptied(file: pathlib.Path) -> None:
    os.truncate(file, 0)


def _newer(file: pathlib.Path) -> None:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = 999 WHERE name = 'schema'")
        assert connection.total_changes == 1


@pytest.mark.parametrize(
    ("damage", "message_part"),
    [
        (_garbled, "not a data file of traincrew"),
        (_truncated, "damaged"),
        (_emptied, "is empty, though a cluster was started here before. Restore a backup"),
        (_newer, "newer"),
    ],
)
def test_a_damaged_or_newer_database_is_an_error_and_is_not_changed(
    stopped_cluster: pathlib.Path, tmp_path: pathlib.Path, damage: Callable[[pathlib.Path], None], message_part: str
) -> None:
    shutil.copytree(stopped_cluster, tmp_path / "data")
    file = tmp_path / "data" / "cluster.db"
    damage(file)
    before = file.read_bytes()
    for flags in (("up",), ("up", "--detach")):
        message = startup_error(*flags, "--data", tmp_path / "data")
        assert str(file) in message
        assert message_part in message
    assert file.read_bytes() == before


def test_a_removed_database_starts_a_new_cluster(stopped_cluster: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shutil.copytree(stopped_cluster, tmp_path / "data")
    (tmp_path / "data" / "cluster.db").unlink()
    with running(tmp_path / "data") as cluster:
        assert cluster.stop() == 0


@pytest.mark.parametrize(
    "listen",
    ["", ":", "x", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:²", "127.0.0.1:1:2", "a b:80", "192.0.2.1:80"],
)
def test_an_invalid_listen_address_is_an_error(tmp_path: pathlib.Path, listen: str) -> None:
    assert (
        repr(listen) in (message := startup_error("up", "--data", tmp_path / "data", "--listen", listen))
        or f"on {listen}" in message
    )


@pytest.fixture
def port_in_use() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_port_in_use_is_an_error(tmp_path: pathlib.Path, flags: tuple[str, ...], port_in_use: int) -> None:
    message = startup_error(*flags, "--data", tmp_path / "data", "--listen", f"127.0.0.1:{port_in_use}")
    assert f"cannot listen on 127.0.0.1:{port_in_use}: " in message
    assert "in use" in message


def test_the_port_of_the_last_start_is_used_again_unless_it_is_in_use(tmp_path: pathlib.Path) -> None:
    cluster = ClusterProcess(tmp_path / "data")
    addresses = []
    for _ in range(2):
        cluster.start()
        addresses.append(cluster.address)
        assert cluster.stop() == 0
    assert addresses[0] == addresses[1]
    with socket.create_server(addresses[0]):
        cluster.start()
        assert cluster.address != addresses[0]
        assert cluster.stop() == 0


def test_of_several_concurrent_starts_one_runs_and_all_report_its_pid(tmp_path: pathlib.Path) -> None:
    command = [*TRAINCREW, "up", "--no-node", "--detach", "--data", str(tmp_path / "data")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    first_lines = {each.communicate()[0].splitlines()[0] for each in started}
    try:
        pid = DataDirectory(tmp_path / "data").owner_pid()
        assert all(f"(process {pid})" in line for line in first_lines), first_lines
        assert [each.returncode for each in started] == [0, 0, 0]
        again = traincrew("up", "--data", tmp_path / "data")
        assert f"The cluster in {tmp_path}/data is already running" in again.stdout
        assert again.returncode == 0
    finally:
        assert traincrew("down", "--data", tmp_path / "data").returncode == 0


def test_down_during_startup_stops_the_cluster(tmp_path: pathlib.Path) -> None:
    where = DataDirectory(tmp_path / "data")
    for _ in range(3):
        starting = subprocess.Popen(
            [*TRAINCREW, "up", "--no-node", "--detach", "--data", str(where.data)], stderr=subprocess.PIPE, text=True
        )
        while not where.owner_pid() and starting.poll() is None:
            pass
        stopped = traincrew("down", "--data", where.data)
        _, message = starting.communicate(timeout=60)
        assert stopped.stdout.startswith("Cluster stopped. "), (stopped, message)
        assert "Traceback" not in message
        assert where.owner_pid() == 0
    cluster = ClusterProcess(where.data)
    cluster.start()
    assert cluster.stop() == 0
    assert "Traceback" not in cluster.log()


def test_a_daemon_that_dies_during_startup_is_reported(tmp_path: pathlib.Path) -> None:
    where, starting = _stopped_during_startup(tmp_path)
    os.kill(where.owner_pid(), signal.SIGKILL)
    _, message = starting.communicate(timeout=60)
    assert (starting.returncode, message) == (NOT_RUNNING, f"error: the cluster did not start: see {where.log}\n")
    assert where.running() is None


def _stopped_during_startup(directory: pathlib.Path) -> tuple[DataDirectory, subprocess.Popen[str]]:
    """A daemon that SIGSTOP holds before it is ready. One that was faster is left behind for another."""
    for attempt in range(10):
        where = DataDirectory(directory / str(attempt))
        command = [*TRAINCREW, "up", "--no-node", "--detach", "--data", str(where.data)]
        starting = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while (pid := where.owner_pid()) <= 0:
            assert starting.poll() is None
        os.kill(pid, signal.SIGSTOP)
        if where.running() is None:
            return where, starting
        os.kill(pid, signal.SIGKILL)
        starting.communicate(timeout=60)
    raise AssertionError("every daemon was ready before it could be stopped")
