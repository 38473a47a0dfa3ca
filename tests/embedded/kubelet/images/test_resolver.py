"""From an image's name to an environment, by real files and directories."""

from __future__ import annotations

import multiprocessing
import os
import pathlib

import pytest

from traincrew import errors
from traincrew.embedded.kubelet.environment.errors import ConfigError
from traincrew.embedded.kubelet.environment.process_config import build_process_config
from traincrew.embedded.kubelet.images import (
    Environment,
    EnvironmentNotFound,
    ImageResolver,
    default_environment,
    image_map_files,
    tool_role,
    tools_directory,
)
from traincrew.embedded.kubelet.images.image_map import ImageMapEntry, parse, render
from traincrew.embedded.kubelet.images.yaml_lines import YamlErrors
from traincrew.embedded.kubelet.runtime.spec import Mount
from traincrew.kinds import dns_wait
from traincrew.kinds.mpi import kubectl_delivery

DEFAULT = Environment(path=("/default/bin",), source="the default", own=False)


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "images.yaml"


@pytest.fixture
def venv(tmp_path: pathlib.Path) -> str:
    root = tmp_path / "venv"
    (root / "bin").mkdir(parents=True)
    (root / "pyvenv.cfg").touch()
    return str(root)


def images(*paths: pathlib.Path, strict: bool = False) -> ImageResolver:
    return ImageResolver(paths, DEFAULT, strict=strict)


def say(file: pathlib.Path, *entries: ImageMapEntry) -> None:
    file.write_text(render(entries))


def test_an_image_without_an_environment_runs_in_the_default_one(file: pathlib.Path) -> None:
    assert images(file).resolve("python") == DEFAULT


def test_strictly_it_is_refused_with_the_command_that_mends_it(file: pathlib.Path) -> None:
    found = images(file, strict=True).resolve("gcr.io/x:1")
    assert isinstance(found, EnvironmentNotFound)
    assert found.reason == "ErrImagePull"
    assert "`traincrew image set gcr.io/x:1 --env DIR`" in found.message


def test_what_is_no_image_name_is_told_as_a_kubelet_tells_it(file: pathlib.Path) -> None:
    expected = 'Failed to apply default image tag "A b": couldn\'t parse image name "A b": invalid reference format'
    assert images(file).resolve("A b") == EnvironmentNotFound(expected, "InvalidImageName")


def test_an_environment_brings_all_that_was_said(file: pathlib.Path, venv: str, tmp_path: pathlib.Path) -> None:
    text = f"""
version: 1
images:
- pattern: "*"
  environment: {venv}
- pattern: my/image
  environment: {venv}
  libraries: true
  mounts: [{{source: {tmp_path}, path: /data, readOnly: true}}]
  workdir: /data
  command: [python, -u]
  variables: {{A: "1"}}
"""
    file.write_text(text)
    found = images(file).resolve("my/image:3")
    assert isinstance(found, Environment)
    assert found.path == (f"{venv}/bin",)
    assert found.env == {"PYTHONUNBUFFERED": "1", "VIRTUAL_ENV": venv, "LD_LIBRARY_PATH": f"{venv}/lib", "A": "1"}
    assert found.mounts == (*default_environment.visible_mounts(venv), Mount("/data", str(tmp_path), True))
    assert (found.workdir, found.command, found.own) == ("/data", ("python", "-u"), True)
    assert "LD_LIBRARY_PATH" not in _found(images(file).resolve("other")).env


def test_an_environment_in_a_temporary_directory_is_shown_to_pods_which_have_their_own() -> None:
    prefix = "/tmp/venv"  # noqa: S108 -- nothing is created there
    assert default_environment.from_prefix(prefix).mounts == (Mount(prefix, prefix, read_only=True, optional=True),)
    assert default_environment.from_prefix("/opt/tmp/venv").mounts == ()


def _found(resolved: Environment | EnvironmentNotFound) -> Environment:
    assert isinstance(resolved, Environment), resolved
    return resolved


def test_a_clusters_file_overrides_the_users(tmp_path: pathlib.Path, venv: str) -> None:
    own, cluster = tmp_path / "own.yaml", tmp_path / "cluster.yaml"
    say(own, ImageMapEntry("a", variables={"X": "user"}), ImageMapEntry("b", variables={"X": "user"}))
    say(cluster, ImageMapEntry("a", variables={"X": "cluster"}))
    both = images(own, cluster)
    assert [_found(both.resolve(name)).env.get("X") for name in "abc"] == ["cluster", "user", None]


def test_what_is_said_later_counts_at_once(file: pathlib.Path, venv: str) -> None:
    running = images(file)
    assert running.resolve("a") == DEFAULT
    image_map_files.change(file, lambda known: (*known, ImageMapEntry("a", venv)))
    assert _found(running.resolve("a")).path == (f"{venv}/bin",)
    image_map_files.change(file, lambda known: ())
    assert running.resolve("a") == DEFAULT


def test_an_environment_that_has_gone_is_told(file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    say(file, ImageMapEntry("a", str(tmp_path / "gone")))
    found = images(file).resolve("a")
    assert isinstance(found, EnvironmentNotFound)
    assert f"{tmp_path}/gone, the environment of images 'a', does not exist" in found.message


def test_a_file_with_faults_stops_containers_and_names_each_line(file: pathlib.Path) -> None:
    file.write_text("version: 1\nimages:\n- pattern: a\n  workdir: rel\n- pattern: a\n  variables: {N: 1}\n  colour: red\n")
    found = images(file).resolve("a")
    assert isinstance(found, EnvironmentNotFound)
    for words in (
        "line 4: workdir: must be",
        "line 6: variables: N must be a text",
        "line 7: colour: there is no",
        "is there twice",
    ):
        assert words in found.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("images: [", "line 1"),
        ("- a", "must be a mapping"),
        ("version: 2", "line 1: version: must be 1"),
        ("version: true", "version: must be"),
        ("version: 1\nimages: {}", "line 2: images: must be a list"),
        ("version: 1\nimages:\n- pattern: 'a b'", "line 3: pattern: 'a b' is not like"),
        ("version: 1\nimages:\n- {pattern: a, command: python}", "command: must be a list"),
        ("version: 1\nimages:\n- {pattern: a, mounts: [{source: /a}]}", "path: is needed"),
    ],
)
def test_faults_are_told_with_their_line(text: str, said: str) -> None:
    with pytest.raises(YamlErrors, match=said):
        parse(text, "images.yaml")


def test_what_is_written_is_read_back() -> None:
    text = "version: 1\nimages:\n- pattern: a\n  mounts: [{source: /s, path: /p, readOnly: true}]\n  variables: {A: 'yes'}\n"
    entries = parse(text, "f")
    assert parse(render(entries), "f") == entries
    assert parse("", "f") == ()


def _add(path: pathlib.Path, name: str) -> None:
    image_map_files.change(path, lambda known: (*known, ImageMapEntry(name, workdir="/x")))


def test_many_writers_lose_nothing(file: pathlib.Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_add, args=(file, f"image{number}")) for number in range(12)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert {entry.pattern for entry in image_map_files.read(file)} == {f"image{number}" for number in range(12)}
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir() if path.suffix != ".lock"] == [file.name]


def test_a_file_that_cannot_be_read_is_not_overwritten(file: pathlib.Path) -> None:
    file.write_text("version: 7")
    with pytest.raises(errors.SettingsError):
        _add(file, "a")
    assert file.read_text() == "version: 7"


def test_the_default_environment_is_the_interpreters_or_the_activated_one(venv: str) -> None:
    plain = default_environment.from_process({"PATH": "/usr/bin:rel:/bin"}, prefix=venv)
    assert plain.path == (f"{venv}/bin", "/usr/bin", "/bin")
    assert plain.env == {"PYTHONUNBUFFERED": "1", "VIRTUAL_ENV": venv}
    active = default_environment.from_process({"PATH": f"{venv}/bin:/bin", "VIRTUAL_ENV": venv}, prefix="/opt/own")
    assert active.path == (f"{venv}/bin", "/bin", "/opt/own/bin")
    stale = default_environment.from_process({"PATH": "/bin", "VIRTUAL_ENV": venv}, prefix="/opt/own")
    assert stale.path == ("/opt/own/bin", "/bin")


def test_a_container_wins_over_its_environment() -> None:
    environment = Environment(("/e/bin",), {"A": "env", "B": "env"}, workdir="/w", command=("python",))
    composed = build_process_config({"args": ["-c", "$(A)"]}, environment, {"A": "pod"}, {"HOME": "/root", "B": "own"})
    assert composed.argv == ("python", "-c", "pod")
    assert composed.cwd == "/w"
    assert {name: composed.env[name] for name in ("A", "B", "HOME")} == {"A": "pod", "B": "env", "HOME": "/root"}
    other = build_process_config({"command": ["sh"], "workingDir": "/x"}, environment, {"PATH": "/p"}, {})
    assert (other.argv, other.cwd, other.env["PATH"]) == (("sh",), "/x", "/e/bin:/p")


def test_a_container_with_nothing_to_run_is_told() -> None:
    with pytest.raises(ConfigError, match="no command specified") as refusal:
        build_process_config({}, Environment(), {}, {})
    assert refusal.value.reason == "CreateContainerError"


def test_the_operators_init_containers_are_known_by_what_they_run() -> None:
    waiting = {"name": "any", "command": ["sh", "-c", dns_wait.SCRIPT.format(master="m", tries=3)]}
    target = [{"name": "TARGET_DIR", "value": "/opt/kube"}]
    script = kubectl_delivery._SCRIPT.format(need="need=1", selector="a=b")
    bringing = {"name": "other", "command": ["/bin/sh", "-c", script], "env": target}
    plain = {"name": "kubectl-delivery", "env": target}
    main = {"name": "main", "command": ["nslookup", "x"]}
    mine = {"name": "mine", "command": ["sh", "-c", "/usr/bin/nslookup x"]}
    pod = {"spec": {"initContainers": [waiting, bringing, plain, mine], "containers": [main]}}
    assert [tool_role(pod, each) for each in (waiting, bringing, plain, mine, main)] == ["nslookup", "kubectl", "kubectl", "", ""]


def test_such_containers_get_the_nodes_tools_even_strictly(file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    made = tools_directory.prepare(tmp_path, tmp_path / "doors")
    strict = ImageResolver((file,), DEFAULT, made, strict=True)
    found = _found(strict.resolve("alpine:3.10", "nslookup"))
    assert found.path[0] == "/run/traincrew/tools/bin"
    assert {mount.path for mount in found.mounts} == {"/run/traincrew/tools", "/run/traincrew/exec"}
    assert isinstance(strict.resolve("alpine:3.10"), EnvironmentNotFound)


def test_tools_are_made_once_and_for_everybodys_eyes(tmp_path: pathlib.Path) -> None:
    made = tools_directory.prepare(tmp_path)
    before = os.stat(made.directory).st_ino
    assert os.stat(tools_directory.prepare(tmp_path).directory).st_ino == before
    for path in made.directory.rglob("*"):
        assert path.stat().st_mode & 0o444 == 0o444
    assert [path.name for path in made.directory.parent.iterdir()] == [made.directory.name]
