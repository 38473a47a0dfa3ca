"""AtomicWriter: readers see one version, even if the writer is killed."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading

import pytest

from traincrew.embedded.file_trees import removal
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


def test_a_link_in_place_of_the_shown_directory_is_not_followed(tmp_path: pathlib.Path) -> None:
    volume, outside = tmp_path / "volume", tmp_path / "outside"
    volume.mkdir()
    outside.mkdir()
    (outside / "f").write_bytes(b"1")
    (volume / "..data").symlink_to(outside)
    assert atomic_writer.write(volume, {"f": ProjectedFile(b"1")})
    assert (volume / "f").resolve().is_relative_to(volume)
    assert os.listdir(outside) == ["f"]


REPLACE = """import os, sys
volume, outside = sys.argv[1:]
print("ready", flush=True)
while True:
    for name in os.listdir(volume):
        if name.startswith("..2") and not os.path.islink(f"{volume}/{name}"):
            try:
                os.rename(f"{volume}/{name}", f"{volume}/moved-{os.urandom(8).hex()}")
                os.symlink(outside, f"{volume}/{name}")
            except OSError:
                pass
"""


def test_a_process_that_replaces_new_directories_by_links_does_not_redirect_the_files(tmp_path: pathlib.Path) -> None:
    volume, outside = tmp_path / "volume", tmp_path / "outside"
    volume.mkdir()
    outside.mkdir()
    with subprocess.Popen([sys.executable, "-ISc", REPLACE, volume, outside], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            for version in range(10):
                payload = {f"a/b/{number}": ProjectedFile(str(version).encode()) for number in range(300)}
                with contextlib.suppress(OSError):
                    atomic_writer.write(volume, payload)
        finally:
            process.kill()
    assert os.listdir(outside) == []


def test_a_very_deep_file_is_written_once_and_changed(tmp_path: pathlib.Path) -> None:
    """Deeper than the recursion limit of Python."""
    path = "d/" * 1300 + "f"
    assert atomic_writer.write(tmp_path, {path: ProjectedFile(b"1")})
    assert not atomic_writer.write(tmp_path, {path: ProjectedFile(b"1")})
    assert atomic_writer.write(tmp_path, {path: ProjectedFile(b"2")})
    assert atomic_writer.write(tmp_path, {"f": ProjectedFile(b"2")})
    removal.remove_tree(tmp_path)


def test_a_file_that_another_process_has_added_or_replaced_is_a_difference(tmp_path: pathlib.Path) -> None:
    shown = {"a/f": ProjectedFile(b"1"), "g": ProjectedFile(b"2")}
    atomic_writer.write(tmp_path, shown)
    for change in ("touch a/h", "mv a/f a/h", "rm g && mkdir g", "ln -sf /etc/passwd g", "truncate -s 1T g"):
        subprocess.run(["sh", "-c", change], cwd=tmp_path / "..data", check=True)
        assert atomic_writer.write(tmp_path, shown), change
        assert not atomic_writer.write(tmp_path, shown)
