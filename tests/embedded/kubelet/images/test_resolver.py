"""Resolves image names to environments, with real files and directories."""

from __future__ import annotations

import multiprocessing
import os
import pathlib

import pytest

from traincrew import errors
from traincrew.embedded.kubelet.envvars.errors import ConfigError
from traincrew.embedded.kubelet.envvars.process_config import build_process_config
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

DEFAULT = Environment(path=("/default/bin",), source="the default", mapped=False)


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "images.yaml"


@pytest.fixture
def venv(tmp_path: pathlib.Path) -> str:
    root = tmp_path / "venv"
    (root / "bin").mkdir(parents=True)
    (root / "pyvenv.cfg").touch()
    return str(root)


def resolver(*paths: pathlib.Path, strict: bool = False) -> ImageResolver:
    return ImageResolver(paths, DEFAULT, strict=strict)


def write_map(file: pathlib.Path, *entries: ImageMapEntry) -> None:
    file.write_text(render(entries))


def test_an_image_without_an_environment_runs_in_the_default_one(file: pathlib.Path) -> None:
    assert resolver(file).resolve("python") == DEFAULT


def test_strict_mode_rejects_an_unmapped_image_and_names_the_remedy(file: pathlib.Path) -> None:
    result = resolver(file, strict=True).resolve("gcr.io/x:1")
    assert isinstance(result, EnvironmentNotFound)
    assert result.reason == "ErrImagePull"
    assert "`traincrew image set gcr.io/x:1 --env-dir DIR`" in result.message


def test_an_invalid_image_name_gets_the_message_of_the_kubelet(file: pathlib.Path) -> None:
    expected = 'Failed to apply default image tag "A b": couldn\'t parse image name "A b": invalid reference format'
    assert resolver(file).resolve("A b") == EnvironmentNotFound(expected, "InvalidImageName")


def test_an_environment_has_everything_that_its_entry_names(file: pathlib.Path, venv: str, tmp_path: pathlib.Path) -> None:
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
    result = resolver(file).resolve("my/image:3")
    assert isinstance(result, Environment)
    assert result.path == (f"{venv}/bin",)
    assert result.env == {"PYTHONUNBUFFERED": "1", "VIRTUAL_ENV": venv, "LD_LIBRARY_PATH": f"{venv}/lib", "A": "1"}
    assert result.mounts == (*default_environment.visible_mounts(venv), Mount("/data", str(tmp_path), True))
    assert (result.workdir, result.command, result.mapped) == ("/data", ("python", "-u"), True)
    assert "LD_LIBRARY_PATH" not in _resolved(resolver(file).resolve("other")).env


def test_an_environment_in_a_temporary_directory_is_mounted_into_pods() -> None:
    prefix = "/tmp/venv"  # noqa: S108 -- nothing is created there
    assert default_environment.from_prefix(prefix).mounts == (Mount(prefix, prefix, read_only=True, optional=True),)
    assert default_environment.from_prefix("/opt/tmp/venv").mounts == ()


def _resolved(result: Environment | EnvironmentNotFound) -> Environment:
    assert isinstance(result, Environment), result
    return result


def test_the_image_map_of_the_cluster_overrides_that_of_the_user(tmp_path: pathlib.Path, venv: str) -> None:
    own, cluster = tmp_path / "own.yaml", tmp_path / "cluster.yaml"
    write_map(own, ImageMapEntry("a", variables={"X": "user"}), ImageMapEntry("b", variables={"X": "user"}))
    write_map(cluster, ImageMapEntry("a", variables={"X": "cluster"}))
    both = resolver(own, cluster)
    assert [_resolved(both.resolve(name)).env.get("X") for name in "abc"] == ["cluster", "user", None]


def test_a_change_of_the_image_map_applies_at_once(file: pathlib.Path, venv: str) -> None:
    running = resolver(file)
    assert running.resolve("a") == DEFAULT
    image_map_files.change(file, lambda known: (*known, ImageMapEntry("a", venv)))
    assert _resolved(running.resolve("a")).path == (f"{venv}/bin",)
    image_map_files.change(file, lambda known: ())
    assert running.resolve("a") == DEFAULT


def test_a_missing_environment_is_reported(file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    write_map(file, ImageMapEntry("a", str(tmp_path / "gone")))
    result = resolver(file).resolve("a")
    assert isinstance(result, EnvironmentNotFound)
    assert f"environment {tmp_path}/gone of images 'a' does not exist" in result.message


def test_an_invalid_image_map_stops_containers_and_every_error_names_its_line(file: pathlib.Path) -> None:
    file.write_text("version: 1\nimages:\n- pattern: a\n  workdir: rel\n- pattern: a\n  variables: {N: 1}\n  colour: red\n")
    result = resolver(file).resolve("a")
    assert isinstance(result, EnvironmentNotFound)
    for words in (
        "line 4: workdir: must be",
        "line 6: variables: N must be a string",
        "line 7: colour: unknown field",
        "duplicate pattern 'a'",
    ):
        assert words in result.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("images: [", "line 1"),
        ("- a", "must be a mapping"),
        ("version: 2", "line 1: version: must be 1"),
        ("version: true", "version: must be"),
        ("version: 1\nimages: {}", "line 2: images: must be a list"),
        ("version: 1\nimages:\n- pattern: 'a b'", "line 3: pattern: 'a b' is not a pattern"),
        ("version: 1\nimages:\n- {pattern: a, command: python}", "command: must be a list"),
        ("version: 1\nimages:\n- {pattern: a, mounts: [{source: /a}]}", "path: is required"),
    ],
)
def test_errors_name_their_line(text: str, message: str) -> None:
    with pytest.raises(YamlErrors, match=message):
        parse(text, "images.yaml")


def test_a_rendered_image_map_parses_to_the_same_entries() -> None:
    text = "version: 1\nimages:\n- pattern: a\n  mounts: [{source: /s, path: /p, readOnly: true}]\n  variables: {A: 'yes'}\n"
    entries = parse(text, "f")
    assert parse(render(entries), "f") == entries
    assert parse("", "f") == ()


def _add(path: pathlib.Path, name: str) -> None:
    image_map_files.change(path, lambda known: (*known, ImageMapEntry(name, workdir="/x")))


def test_concurrent_writers_lose_no_entry(file: pathlib.Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_add, args=(file, f"image{number}")) for number in range(12)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert {entry.pattern for entry in image_map_files.read(file)} == {f"image{number}" for number in range(12)}
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir() if path.suffix != ".lock"] == [file.name]


def test_an_invalid_image_map_is_not_overwritten(file: pathlib.Path) -> None:
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


def test_a_container_takes_precedence_over_its_environment() -> None:
    environment = Environment(("/e/bin",), {"A": "env", "B": "env"}, workdir="/w", command=("python",))
    composed = build_process_config({"args": ["-c", "$(A)"]}, environment, {"A": "pod"}, {"HOME": "/root", "B": "own"})
    assert composed.argv == ("python", "-c", "pod")
    assert composed.cwd == "/w"
    assert {name: composed.env[name] for name in ("A", "B", "HOME")} == {"A": "pod", "B": "env", "HOME": "/root"}
    other = build_process_config({"command": ["sh"], "workingDir": "/x"}, environment, {"PATH": "/p"}, {})
    assert (other.argv, other.cwd, other.env["PATH"]) == (("sh",), "/x", "/e/bin:/p")


def test_a_container_without_a_command_is_rejected() -> None:
    with pytest.raises(ConfigError, match="no command specified") as error:
        build_process_config({}, Environment(), {}, {})
    assert error.value.reason == "CreateContainerError"


def test_init_containers_of_operators_are_recognized_by_their_command() -> None:
    waiting = {"name": "any", "command": ["sh", "-c", dns_wait.SCRIPT.format(master="m", tries=3, flag="f")]}
    target = [{"name": "TARGET_DIR", "value": "/opt/kube"}]
    script = kubectl_delivery._SCRIPT.format(need="need=1", selector="a=b", flag="f")
    bringing = {"name": "other", "command": ["/bin/sh", "-c", script], "env": target}
    plain = {"name": "kubectl-delivery", "env": target}
    main = {"name": "main", "command": ["nslookup", "x"]}
    mine = {"name": "mine", "command": ["sh", "-c", "/usr/bin/nslookup x"]}
    workers = {"name": "workers", "command": ["traincrew-wait", "--hosts-file=/etc/mpi/hostfile"]}
    pod = {"spec": {"initContainers": [waiting, bringing, plain, mine, workers], "containers": [main]}}
    roles = {each["name"]: tool_role(pod, each) for each in (waiting, bringing, plain, mine, workers, main)}
    known = {"any": "nslookup", "other": "kubectl", "kubectl-delivery": "kubectl", "workers": "traincrew-wait"}
    assert roles == {**known, "mine": "", "main": ""}


def test_init_containers_of_operators_get_the_tools_even_in_strict_mode(file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    tools = tools_directory.prepare(tmp_path, tmp_path / "sockets")
    strict = ImageResolver((file,), DEFAULT, tools, strict=True)
    result = _resolved(strict.resolve("alpine:3.10", "nslookup"))
    assert result.path[0] == "/run/traincrew/tools/bin"
    assert {mount.path for mount in result.mounts} == {"/run/traincrew/tools", "/run/traincrew/exec"}
    assert isinstance(strict.resolve("alpine:3.10"), EnvironmentNotFound)


def test_tools_are_written_once_and_readable_by_every_user(tmp_path: pathlib.Path) -> None:
    tools = tools_directory.prepare(tmp_path)
    before = os.stat(tools.directory).st_ino
    assert os.stat(tools_directory.prepare(tmp_path).directory).st_ino == before
    for path in tools.directory.rglob("*"):
        assert path.stat().st_mode & 0o444 == 0o444
    assert [path.name for path in tools.directory.parent.iterdir()] == [tools.directory.name]
