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
    """Say which environment of this machine an image's name stands for: images are not pulled here.

    What is said counts for containers that start from now on, on a cluster that runs, too. Without a word about its image a
    container runs in the environment that `traincrew up` was started from.

    \b
    traincrew image set 'pytorch/pytorch:*' --env ~/venvs/torch
    traincrew image list
    traincrew image rm 'pytorch/pytorch:*'
    """


def _which(command: Any) -> Any:
    """Whose file: the user's, or that of one cluster."""
    command = click.option("--data", metavar="DIR", default="", help="Of the cluster in DIR only; it overrides the user's.")(
        command
    )
    return click.option("--cluster", is_flag=True, help="Of this machine's usual cluster only.")(command)


def _file(data: str, cluster: bool) -> pathlib.Path:
    from traincrew.embedded.kubelet.images import image_map_files

    return image_map_files.cluster_path(data_directory.data_directory(data)) if data or cluster else image_map_files.user_path()


@image.command("set")
@click.argument("pattern", metavar="PATTERN")
@click.option("--env", "environment", metavar="DIR", default="", help="A virtual environment, or a prefix with a bin directory.")
@click.option(
    "--mount", "mounts", multiple=True, metavar="SRC:DST[:ro]", help="Show SRC of this machine at DST; may be repeated."
)
@click.option("--workdir", metavar="DIR", default="", help="Where containers start that name no directory.")
@click.option("--command", metavar="WORDS", default="", help="What containers run that name no command.")
@click.option("--set", "variables", multiple=True, metavar="NAME=VALUE", help="A variable; may be repeated.")
@click.option("--libraries", is_flag=True, help="Put the environment's lib directory into LD_LIBRARY_PATH.")
@_which
def set_(pattern: str, data: str, cluster: bool, **said: Any) -> None:
    """Let PATTERN stand for an environment, in place of what was said of PATTERN before.

    `*` stands for any characters and `?` for one. Without a tag every tag is meant. The pattern that is closest to an image's
    name is taken. Quote it, or your shell may take it for file names.

    \b
    traincrew image set 'tensorflow/tensorflow:2.*' --env /opt/tf --set OMP_NUM_THREADS=1
    traincrew image set registry.example/mnist --mount ~/mnist:/data:ro --workdir /data --command 'python train.py'
    """
    from traincrew.embedded.kubelet.images import image_map_files

    entry = _entry(pattern, said)
    path = _file(data, cluster)
    with _troubles(path):
        image_map_files.change(path, lambda known: (*(each for each in known if each.pattern != pattern), entry))
    click.echo(f"images {pattern!r} stand for {_words(entry)}")


@image.command("list")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_which
def list_(data: str, cluster: bool, output: str) -> None:
    """Show what image names stand for: the user's, and those of this machine's cluster, which override them."""
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
        click.echo("no image has an environment of its own: all run in the one that `traincrew up` was started from")
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
    """Forget what PATTERN stands for."""
    from traincrew.embedded.kubelet.images import image_map_files

    path = _file(data, cluster)
    if all(entry.pattern != pattern for entry in image_map_files.read(path)):
        raise errors.SettingsError(f"{path} says nothing of {pattern!r}; see `traincrew image list`")
    with _troubles(path):
        image_map_files.change(path, lambda known: tuple(each for each in known if each.pattern != pattern))
    click.echo(f"images {pattern!r} stand for nothing of their own any more")


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
        raise errors.SettingsError("--libraries needs --env: whose libraries?")
    if entry == ImageMapEntry(pattern):
        raise errors.SettingsError("say what the images stand for: --env, --mount, --workdir, --command or --set")
    return entry


def _environment(text: str) -> str:
    if not text:
        return ""
    path = os.path.abspath(os.path.expanduser(text))
    if not os.path.isdir(os.path.join(path, "bin")):
        why = "it has no bin directory" if os.path.isdir(path) else "there is no such directory"
        raise errors.SettingsError(f"--env {text!r} is no environment: {why}")
    return path


def _mount(text: str) -> MountEntry:
    from traincrew.embedded.kubelet.images.image_map import MountEntry

    source, _, rest = text.partition(":")
    target, _, how = rest.partition(":")
    if not source or not target or how not in ("", "ro", "rw"):
        raise errors.SettingsError(f"--mount {text!r} is not SRC:DST or SRC:DST:ro")
    path = os.path.abspath(os.path.expanduser(source))
    if not os.path.exists(path):
        raise errors.SettingsError(f"--mount {text!r}: {path} does not exist")
    return MountEntry(path, _inside("--mount", target), how == "ro")


def _inside(flag: str, path: str) -> str:
    if not path.startswith("/"):
        raise errors.SettingsError(f"{flag}: {path!r} must be an absolute path, as the container sees it")
    return os.path.normpath(path)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise errors.SettingsError(f"--set {text!r} is not NAME=VALUE")
    return name, value


def _words(entry: ImageMapEntry) -> str:
    words = [entry.environment or "the default environment"]
    words += [f"{each.path} from {each.source}{' (read-only)' if each.read_only else ''}" for each in entry.mounts]
    words += [f"in {entry.workdir}"] if entry.workdir else []
    words += [f"running {shlex.join(entry.command)}"] if entry.command else []
    words += [f"{name}={value}" for name, value in entry.variables.items()]
    words += ["with its libraries"] if entry.libraries else []
    return ", ".join(words)
