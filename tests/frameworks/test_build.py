"""Builds of environments: what an interrupted build keeps, and the errors of failed builds."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import subprocess
import sys
from types import SimpleNamespace

import pytest
from tools.frameworks import build, cache_paths, commands, horovod, images, packages
from tools.frameworks.commands import BuildFailed
from tools.frameworks.recipes import RECIPES, Recipe, named

from traincrew.embedded.kubelet.images import image_map, image_names
from traincrew.embedded.kubelet.images.image_map import ImageMapEntry

SEEDS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "seeds"
SMALL = Recipe("mpich", "the smallest there is", 1, proof="import mpi4py")


@pytest.fixture
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A PATH with only the tools."""
    tools = packages.tools().parent
    monkeypatch.setenv("TRAINCREW_CACHE", str(tmp_path))
    cache_paths.root().mkdir(parents=True)
    (cache_paths.root() / tools.name).symlink_to(tools)
    return tmp_path


@pytest.mark.frameworks
def test_an_environment_is_built_once_and_works_where_it_ends_up(cache: pathlib.Path) -> None:
    first = build.build(SMALL)
    environment = cache_paths.built(first)
    assert environment is not None
    assert environment.megabytes > 50
    ran = subprocess.run(
        [first / "bin" / "mpirun", "-n", "2", first / "bin" / "python", "-c", "print('rank')"], capture_output=True
    )
    assert ran.stdout.count(b"rank") == 2
    assert build.build(SMALL) == first
    assert cache_paths.built(first) == environment
    assert not cache_paths.unfinished(first).exists()


@pytest.mark.frameworks
def test_an_interrupted_build_does_the_missing_steps_only(cache: pathlib.Path) -> None:
    broken = dataclasses.replace(SMALL, proof="raise SystemExit('not yet')")
    with pytest.raises(BuildFailed, match="not yet"):
        build.build(broken)
    finished = cache_paths.environment(SMALL, packages.python(SMALL)[0])
    left = cache_paths.unfinished(finished)
    assert not finished.exists()
    marked = left / "bin" / "made-before-the-interruption"
    marked.touch()
    assert build.build(SMALL) == finished
    assert (finished / "bin" / marked.name).exists()


def test_a_python_that_has_no_wheel_is_reported_with_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    recipe = dataclasses.replace(named("horovod-tensorflow"), pythons=("3.8",))
    with pytest.raises(BuildFailed, match=r"needs Python 3\.8, and this is .*TensorFlow 2\.15\.1.*Install python3\.8"):
        packages.python(recipe)


def test_another_python_on_the_path_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    (tmp_path / f"python{own}").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", SimpleNamespace(major=3, minor=99))
    assert packages.python(dataclasses.replace(SMALL, pythons=(own,))) == (own, str(tmp_path / f"python{own}"))


def test_too_little_disk_is_reported_before_anything_is_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("TRAINCREW_CACHE", str(tmp_path))
    with pytest.raises(BuildFailed, match=r"needs 1000000000 MB of disk.*TRAINCREW_CACHE"):
        build.build(dataclasses.replace(SMALL, megabytes=10**9))


def test_an_index_that_cannot_be_reached_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "ATTEMPTS", 1)
    with pytest.raises(BuildFailed, match="package index could not be reached"):
        commands.run("trial", ["sh", "-c", "echo 'dns error: failed to lookup address'; exit 2"])


def test_a_missing_program_is_named() -> None:
    with pytest.raises(BuildFailed, match="there is no surely-not-there"):
        commands.run("trial", ["surely-not-there"])


def test_every_lock_is_complete_with_hashes_and_without_addresses() -> None:
    for recipe in RECIPES:
        for lock in cache_paths.locks(recipe):
            text = lock.read_text()
            assert "--hash=sha256:" in text, lock
            assert "://" not in text, lock


def test_what_the_user_said_of_an_image_stays() -> None:
    mine = ImageMapEntry("pytorch/pytorch", "/opt/mine")
    stale = ImageMapEntry("traincrew/torch", str(cache_paths.root() / "torch-00000000"))
    ours = (
        ImageMapEntry("pytorch/pytorch", str(cache_paths.root() / "torch-1")),
        ImageMapEntry("traincrew/torch", str(cache_paths.root() / "torch-1")),
    )
    assert images.merged((mine, stale), ours) == (mine, ours[1])


def test_patterns_are_ones_that_the_image_file_takes_and_none_is_there_twice() -> None:
    patterns = [pattern for image in images.IMAGES for pattern in image.patterns]
    entries = [ImageMapEntry(pattern, "/somewhere") for pattern in patterns]
    assert image_map.parse(image_map.render(entries), "trial") == tuple(entries)


def test_the_images_mount_a_copy_of_the_examples_that_does_not_depend_on_the_clone(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINCREW_CACHE", str(tmp_path))
    cache_paths.root().mkdir(parents=True)
    copied = images.copied_examples()
    assert copied.is_relative_to(tmp_path)
    assert images.copied_examples() == copied
    assert [path.name for path in cache_paths.root().iterdir()] == [copied.name]
    own = {path.relative_to(images.EXAMPLES): path.read_bytes() for path in images.EXAMPLES.rglob("*.py")}
    assert {path.relative_to(copied): path.read_bytes() for path in copied.rglob("*.py")} == own


def test_mounts_of_images_are_there() -> None:
    for image in images.IMAGES:
        for source, _ in image.mounts:
            assert (images.EXAMPLES / source).exists(), source


@pytest.mark.parametrize("path", sorted(SEEDS.glob("*job.yaml")), ids=lambda path: path.name)
def test_every_image_of_the_seeds_has_an_environment(path: pathlib.Path) -> None:
    used = {line.split("image:")[1].strip().strip('"') for line in path.read_text().splitlines() if "image:" in line}
    for image in used - {"<训练镜像>"}:  # the document leaves that one to its reader
        fitting = [
            p for each in images.IMAGES for p in each.patterns if image_names.parse_pattern(p).matches(image_names.parse(image))
        ]
        assert len(fitting) == 1, (image, fitting)


@pytest.mark.frameworks
def test_two_builds_of_one_environment_wait_for_each_other(cache: pathlib.Path) -> None:
    taking = (
        "from tools.frameworks import cache_paths;"
        "cache_paths.only_one_at_a_time('trial', lambda l: print(l, flush=True)).__enter__()"
    )
    with contextlib.ExitStack() as stack:
        with cache_paths.only_one_at_a_time("trial", print):
            other = stack.enter_context(subprocess.Popen([sys.executable, "-c", taking], stdout=subprocess.PIPE, text=True))
            assert other.stdout is not None
            assert "another process builds it" in other.stdout.readline()
            assert other.poll() is None
        assert other.wait() == 0


def test_without_a_compiler_horovod_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildFailed, match=r"no C\+\+ compiler.*apt-get install g\+\+"):
        horovod.compile_into(tmp_path, named("horovod-tensorflow"))
