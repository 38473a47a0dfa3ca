"""`traincrew up` where it cannot be: the reason in words, with the place and what to do; an exit code; nothing lost."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator

import pytest
from tests.embedded.apiserver.storage.shortage import full_disk, small_file_system
from tests.embedded.resilience.clusters import TRAINCREW, Process, running, traincrew

from traincrew.embedded.data_directory import DataDirectory

USER_ERROR = 2
NO_POWER = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner")
"""Root without the powers that let it into other people's files."""


def refused(*arguments: str | pathlib.Path, before: tuple[str, ...] = ()) -> str:
    """What it said: one line."""
    done = traincrew(*arguments, before=before)
    assert done.returncode == USER_ERROR, done
    assert done.stderr.startswith("traincrew: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture(params=["in the foreground", "detached"])
def flags(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return ("up", "--detach") if request.param == "detached" else ("up",)


def test_a_file_in_place_of_the_directory_is_told(tmp_path: pathlib.Path, flags: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("mine")
    assert f"{tmp_path}/file: File exists; " in refused(*flags, "--data", tmp_path / "file")
    assert f"{tmp_path}/file/below: Not a directory; " in refused(*flags, "--data", tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_read_only_directory_is_told(tmp_path: pathlib.Path, flags: tuple[str, ...]) -> None:
    with small_file_system(tmp_path / "small"):
        subprocess.run(["mount", "-o", "remount,ro", tmp_path / "small"], check=True)
        assert "Read-only file system" in refused(*flags, "--data", tmp_path / "small")
        assert "Read-only file system" in refused(*flags, "--data", tmp_path / "small" / "below")


@pytest.fixture
def foreign(tmp_path: pathlib.Path) -> pathlib.Path:
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root can make a directory of another user")
    (tmp_path / "other").mkdir(mode=0o700)
    os.chown(tmp_path / "other", 65534, 65534)
    return tmp_path / "other"


@pytest.mark.parametrize("verb", ["up", "down", "status", "env", "kubeconfig"])
def test_a_directory_of_another_user_is_told(foreign: pathlib.Path, verb: str) -> None:
    said = refused(verb, "--data", foreign, before=NO_POWER)
    assert str(foreign) in said
    assert "Permission denied" in said or "belongs to another user" in said


def test_a_full_disk_is_told_and_the_next_start_with_room_is_good(tmp_path: pathlib.Path, flags: tuple[str, ...]) -> None:
    data = tmp_path / "small"
    with small_file_system(data):
        with full_disk(data):
            said = refused(*flags, "--data", data)
            assert f"{data}/cluster.db: no space is left on its file system" in said
        with running(data) as cluster:
            assert cluster.stop() == 0


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The directory of a cluster that ran."""
    data = tmp_path_factory.mktemp("used") / "data"
    with running(data) as cluster:
        assert cluster.stop() == 0
    return data


def _garbled(file: pathlib.Path) -> None:
    file.write_bytes(os.urandom(100_000))


def _truncated(file: pathlib.Path) -> None:
    os.truncate(file, 20_000)


def _newer(file: pathlib.Path) -> None:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = 999 WHERE name = 'schema'")
        assert connection.total_changes == 1


@pytest.mark.parametrize(
    ("spoil", "words"), [(_garbled, "not a data file of traincrew, or damaged"), (_truncated, "damaged"), (_newer, "newer")]
)
def test_a_data_file_that_cannot_be_read_is_told_and_left_alone(
    used: pathlib.Path, tmp_path: pathlib.Path, spoil: Callable[[pathlib.Path], None], words: str
) -> None:
    shutil.copytree(used, tmp_path / "data")
    file = tmp_path / "data" / "cluster.db"
    spoil(file)
    before = file.read_bytes()
    for flags in (("up",), ("up", "--detach")):
        said = refused(*flags, "--data", tmp_path / "data")
        assert str(file) in said
        assert words in said
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "listen",
    ["", ":", "x", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:²", "127.0.0.1:1:2", "a b:80", "192.0.2.1:80"],
)
def test_an_address_that_cannot_be_is_told(tmp_path: pathlib.Path, listen: str) -> None:
    assert repr(listen) in (said := refused("up", "--data", tmp_path / "data", "--listen", listen)) or f"on {listen}" in said


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_port_that_somebody_has_is_told(tmp_path: pathlib.Path, flags: tuple[str, ...], taken: int) -> None:
    said = refused(*flags, "--data", tmp_path / "data", "--listen", f"127.0.0.1:{taken}")
    assert f"cannot listen on 127.0.0.1:{taken}: " in said
    assert "in use" in said


def test_of_many_that_start_at_once_one_runs_and_all_name_it(tmp_path: pathlib.Path) -> None:
    command = [*TRAINCREW, "up", "--no-node", "--detach", "--data", str(tmp_path / "data")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = {each.communicate()[0].splitlines()[0] for each in started}
    try:
        pid = DataDirectory(tmp_path / "data").holder()
        assert all(f"(process {pid})" in line for line in said), said
        assert [each.returncode for each in started] == [0, 0, 0]
        again = traincrew("up", "--data", tmp_path / "data")
        assert f"runs already on {tmp_path}/data" in again.stdout
        assert again.returncode == 0
    finally:
        assert traincrew("down", "--data", tmp_path / "data").returncode == 0


def test_down_while_it_starts_stops_it_whenever_it_comes(tmp_path: pathlib.Path) -> None:
    where = DataDirectory(tmp_path / "data")
    for _ in range(3):
        starting = subprocess.Popen(
            [*TRAINCREW, "up", "--no-node", "--detach", "--data", str(where.data)], stderr=subprocess.PIPE, text=True
        )
        while not where.holder() and starting.poll() is None:
            pass
        assert traincrew("down", "--data", where.data).stdout.startswith("stopped; ")
        _, said = starting.communicate(timeout=60)
        assert "Traceback" not in said
        assert where.holder() == 0
    cluster = Process(where.data)
    cluster.start()
    assert cluster.stop() == 0
    assert "Traceback" not in cluster.log()


def test_a_child_that_dies_while_it_starts_is_told(tmp_path: pathlib.Path) -> None:
    where = DataDirectory(tmp_path / "data")
    starting = subprocess.Popen(
        [*TRAINCREW, "up", "--no-node", "--detach", "--data", str(where.data)], stderr=subprocess.PIPE, text=True
    )
    while (pid := where.holder()) <= 0:
        assert starting.poll() is None
    os.kill(pid, 9)
    _, said = starting.communicate(timeout=60)
    # It may have been ready already when it was killed: then it had been started.
    assert starting.returncode == 0 or said == f"traincrew: the cluster did not start: see {where.log}\n"
    assert where.running() is None
