"""AtomicWriter: readers see one version, even if the writer is killed."""

from __future__ import annotations

import os
import pathlib
import random
import signal
import subprocess
import sys
import threading

import pytest

from traincrew.embedded.kubelet.volumes import atomic_writer
from traincrew.embedded.kubelet.volumes.errors import VolumeSourceError
from traincrew.embedded.kubelet.volumes.projected_files import Payload, ProjectedFile

NAMES = [f"f{index}" for index in range(8)] + ["deep/er/f"]

ENDLESS = """
import pathlib, sys
from tests.embedded.kubelet.volumes.test_atomic_writer import payload
from traincrew.embedded.kubelet.volumes import atomic_writer
number = 0
print("ready", flush=True)
while True:
    number += 1
    atomic_writer.write(pathlib.Path(sys.argv[1]), payload(number))
"""


def payload(number: int) -> Payload:
    names = NAMES if number % 2 else NAMES[:4]
    return {name: ProjectedFile(str(number).encode()) for name in names}


def visible_versions(volume: pathlib.Path) -> set[bytes]:
    directory = volume / os.readlink(volume / "..data")
    return {each.read_bytes() for each in directory.rglob("*") if each.is_file()}


def test_a_reader_that_holds_the_directory_sees_one_version(tmp_path: pathlib.Path) -> None:
    atomic_writer.write(tmp_path, payload(0))
    mixed: list[set[bytes]] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            try:
                versions = visible_versions(tmp_path)
            except FileNotFoundError:
                continue  # that version has just been removed
            if len(versions) > 1:
                mixed.append(versions)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 200):
        assert atomic_writer.write(tmp_path, payload(number))
    ended.set()
    reader.join()
    assert mixed == []


@pytest.mark.parametrize("seed", range(8))
def test_after_a_kill_one_version_is_visible_and_the_next_write_cleans_up(tmp_path: pathlib.Path, seed: int) -> None:
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path)], stdout=subprocess.PIPE, cwd=pathlib.Path.cwd())
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(random.Random(seed).uniform(0.0, 0.1))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    if (tmp_path / "..data").is_symlink():
        assert len(visible_versions(tmp_path)) == 1
    atomic_writer.write(tmp_path, payload(-1))
    names = {name.split("/")[0] for name in NAMES}
    assert set(os.listdir(tmp_path)) == {"..data", os.readlink(tmp_path / "..data"), *names}
    assert {(tmp_path / name).read_bytes() for name in NAMES} == {b"-1"}


@pytest.mark.parametrize("path", ["", "/a", "../a", "a/../../b", "..data", "..x/y", "a" * 256])
def test_no_path_leads_out_of_the_volume(tmp_path: pathlib.Path, path: str) -> None:
    with pytest.raises(VolumeSourceError, match="invalid path"):
        atomic_writer.write(tmp_path, {path: ProjectedFile(b"x")})
    assert list(tmp_path.iterdir()) == []


def test_modes_do_not_depend_on_the_umask(tmp_path: pathlib.Path) -> None:
    before = os.umask(0o077)
    try:
        atomic_writer.write(tmp_path, {"d/f": ProjectedFile(b"x", 0o755)})
    finally:
        os.umask(before)
    assert os.stat(tmp_path / "d").st_mode & 0o777 == 0o755
    assert os.stat(tmp_path / "d" / "f").st_mode & 0o777 == 0o755
