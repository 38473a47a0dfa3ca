"""`traincrew image`: which environment of this machine an image's name stands for."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from traincrew import errors
from traincrew.embedded import data_directory

if TYPE_CHECKING:
    from traincrew.embedded.kubelet.images.image_map import ImageMapEntry, MountEntry


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def image() -> None:
    """Map image names to environments on this machine. The embedded cluster does not pull images.

    A change applies to containers that start afterwards, also on a running cluster. A container whose image has no mapping runs
    in the environment that `traincrew up` was started from.

    \b
    traincrew image set 'pytorch/pytorch:*' --env ~/venvs/torch
    traincrew image list
    traincrew image rm 'pytorch/pytorch:*'
    """


def _which(command: Any) -> Any:
    """Whose file: the user's, or that of one cluster."""
    command = click.option(
        "--data", metavar="DIR", default="", help="Use the mapping of the cluster in DIR, which overrides the user's mapping."
    )(command)
    return click.option("--cluster", is_flag=True, help="Use the mapping of the cluster in the default data directory.")(command)


def _file(data: str, cluster: bool) -> pathlib.Path:
    from traincrew.embedded.kubelet.images import image_map_files

    return image_map_files.cluster_path(data_directory.data_directory(data)) if data or cluster else image_map_files.user_path()


@image.command("set")
@click.argument("pattern", metavar="PATTERN")
@click.option("--env", "environment", metavar="DIR", default="", help="Virtual environment or prefix with a bin directory.")
@click.option(
    "--mount", "mounts", multiple=True, metavar="SRC:DST[:ro]", help="Mount SRC of this machine at DST. May be repeated."
)
@click.option("--workdir", metavar="DIR", default="", help="Default working directory of containers.")
@click.option("--command", metavar="WORDS", default="", help="Default command of containers.")
@click.option("--set", "variables", multiple=True, metavar="NAME=VALUE", help="Environment variable. May be repeated.")
@click.option("--libraries", is_flag=True, help="Add the environment's lib directory to LD_LIBRARY_PATH.")
@_which
def set_(pattern: str, data: str, cluster: bool, **said: Any) -> None:
    """Map the images that match PATTERN to an environment. An existing mapping of PATTERN is replaced.

    `*` matches any characters and `?` matches one. A pattern without a tag matches every tag. The most specific pattern wins.
    Quote the pattern so that the shell does not expand it.

    \b
    traincrew image set 'tensorflow/tensorflow:2.*' --env /opt/tf --set OMP_NUM_THREADS=1
    traincrew image set registry.example/mnist --mount ~/mnist:/data:ro --workdir /data --command 'python train.py'
    """
    from traincrew.embedded.kubelet.images import image_map_files

    entry = _entry(pattern, said)
    path = _file(data, cluster)
    with _troubles(path):
        image_map_files.change(path, lambda known: (*(each for each in known if each.pattern != pattern), entry))
    click.echo(f"image {pattern!r} mapped to {_words(entry)}")


@image.command("list")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format.")
@_which
def list_(data: str, cluster: bool, output: str) -> None:
    """List the image mappings of the user and of the cluster on this machine. The cluster's mappings override the user's."""
    from traincrew.embedded.kubelet.images import image_map_files

    paths = (
        [_file(data, cluster)]
        if data or cluster
        else [image_map_files.user_path(), image_map_files.cluster_path(data_directory.data_directory())]
    )
    found = [(path, entry) for path in paths for entry in image_map_files.read(path)]
    if output == "json":
        told = [{**entry.plain(), "file": str(path)} for path, entry in found]
        click.echo(json.dumps(told, indent=2))
    elif not found:
        click.echo("No image mappings. All images run in the environment that `traincrew up` was started from.")
    else:
        width = max(len(entry.pattern) for _, entry in found)
        for path, entry in found:
            click.echo(
                f"{entry.pattern:<{width}}  {_words(entry)}{'' if path == image_map_files.user_path() else f'  (in {path})'}"
            )


@image.command("rm")
@click.argument("pattern", metavar="PATTERN")
@_which
def rm(pattern: str, data: str, cluster: bool) -> None:
    """Remove the mapping of PATTERN."""
    from traincrew.embedded.kubelet.images import image_map_files

    path = _file(data, cluster)
    if all(entry.pattern != pattern for entry in image_map_files.read(path)):
        raise errors.SettingsError(f"no mapping of {pattern!r} in {path}. Run `traincrew image list` to see the mappings.")
    with _troubles(path):
        image_map_files.change(path, lambda known: tuple(each for each in known if each.pattern != pattern))
    click.echo(f"image {pattern!r} removed")


@contextlib.contextmanager
def _troubles(path: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise errors.SettingsError(f"{error.filename or path}: {error.strerror or error}") from None


def _entry(pattern: str, said: dict[str, Any]) -> ImageMapEntry:
    from traincrew.embedded.kubelet.images import image_names
    from traincrew.embedded.kubelet.images.image_map import ImageMapEntry

    try:
        image_names.parse_pattern(pattern)
        command = tuple(shlex.split(said["command"]))
    except ValueError as error:
        raise errors.SettingsError(str(error)) from None
    entry = ImageMapEntry(
        pattern=pattern,
        environment=_environment(said["environment"]),
        libraries=said["libraries"],
        mounts=tuple(_mount(each) for each in said["mounts"]),
        workdir=_inside("--workdir", said["workdir"]) if said["workdir"] else "",
        command=command,
        variables=dict(_variable(each) for each in said["variables"]),
    )
    if entry.libraries and not entry.environment:
        raise errors.SettingsError("--libraries requires --env")
    if entry == ImageMapEntry(pattern):
        raise errors.SettingsError("specify at least one of --env, --mount, --workdir, --command and --set")
    return entry


def _environment(text: str) -> str:
    if not text:
        return ""
    path = os.path.abspath(os.path.expanduser(text))
    if not os.path.isdir(os.path.join(path, "bin")):
        why = "the directory has no bin directory" if os.path.isdir(path) else "no such directory"
        raise errors.SettingsError(f"--env {text!r} is not an environment: {why}")
    return path


def _mount(text: str) -> MountEntry:
    from traincrew.embedded.kubelet.images.image_map import MountEntry

    source, _, rest = text.partition(":")
    target, _, how = rest.partition(":")
    if not source or not target or how not in ("", "ro", "rw"):
        raise errors.SettingsError(f"invalid --mount {text!r}: expected SRC:DST or SRC:DST:ro")
    path = os.path.abspath(os.path.expanduser(source))
    if not os.path.exists(path):
        raise errors.SettingsError(f"invalid --mount {text!r}: {path} does not exist")
    return MountEntry(path, _inside("--mount", target), how == "ro")


def _inside(flag: str, path: str) -> str:
    if not path.startswith("/"):
        raise errors.SettingsError(f"invalid {flag}: {path!r} must be an absolute path in the container")
    return os.path.normpath(path)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise errors.SettingsError(f"invalid --set {text!r}: expected NAME=VALUE")
    return name, value


def _words(entry: ImageMapEntry) -> str:
    words = [entry.environment or "the default environment"]
    words += [f"mount {each.source} at {each.path}{' (read-only)' if each.read_only else ''}" for each in entry.mounts]
    words += [f"working directory {entry.workdir}"] if entry.workdir else []
    words += [f"command {shlex.join(entry.command)}"] if entry.command else []
    words += [f"{name}={value}" for name, value in entry.variables.items()]
    words += ["with LD_LIBRARY_PATH"] if entry.libraries else []
    return ", ".join(words)
