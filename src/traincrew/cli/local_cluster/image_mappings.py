"""Mappings of image names to environments, as `traincrew image` edits them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import shlex
from collections.abc import Iterator
from typing import Any

from traincrew import errors
from traincrew.cli import env_options, home_paths
from traincrew.cli.render import tables
from traincrew.embedded import data_directory
from traincrew.embedded.kubelet.images import image_map_files, image_names
from traincrew.embedded.kubelet.images.image_map import ImageMapEntry, MountEntry


def file(data: str, cluster: bool) -> pathlib.Path:
    """The file of one cluster, else of the user."""
    return image_map_files.cluster_path(data_directory.data_directory(data)) if data or cluster else image_map_files.user_path()


def entries(data: str, cluster: bool) -> list[tuple[pathlib.Path, ImageMapEntry]]:
    """The entries of one file, or those of the user and of the default cluster."""
    both = [image_map_files.user_path(), image_map_files.cluster_path(data_directory.data_directory())]
    paths = [file(data, cluster)] if data or cluster else both
    return [(path, entry) for path in paths for entry in image_map_files.read(path)]


def set_entry(path: pathlib.Path, entry: ImageMapEntry) -> None:
    with _file_errors(path):
        image_map_files.change(path, lambda known: (*(each for each in known if each.pattern != entry.pattern), entry))


def remove(path: pathlib.Path, pattern: str) -> ImageMapEntry:
    """Return the mapping that is removed."""
    removed = next((entry for entry in image_map_files.read(path) if entry.pattern == pattern), None)
    if removed is None:
        raise errors.SettingsError(f"no mapping of {pattern!r} in {path}. Run `traincrew image list` to see the mappings.")
    with _file_errors(path):
        image_map_files.change(path, lambda known: tuple(each for each in known if each.pattern != pattern))
    return removed


@contextlib.contextmanager
def _file_errors(path: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise errors.SettingsError(f"{error.filename or path}: {error.strerror or error}") from None


def parse_entry(pattern: str, flags: dict[str, Any]) -> ImageMapEntry:
    """The entry that the flags of `traincrew image set` describe. Raise SettingsError for invalid values."""
    try:
        image_names.parse_pattern(pattern)
        command = tuple(shlex.split(flags["command"]))
    except ValueError as error:
        raise errors.SettingsError(str(error)) from None
    entry = ImageMapEntry(
        pattern=pattern,
        environment=_parse_environment(flags["environment"]),
        libraries=flags["libraries"],
        mounts=tuple(_parse_mount(each) for each in flags["mounts"]),
        workdir=_container_path("--workdir", flags["workdir"]) if flags["workdir"] else "",
        command=command,
        variables=dict(_parse_variables(flags["variables"])),
    )
    if entry.libraries and not entry.environment:
        raise errors.SettingsError("--libraries requires --env-dir")
    if entry == ImageMapEntry(pattern):
        raise errors.SettingsError("specify at least one of --env-dir, --mount, --workdir, --command and --env")
    return entry


def _parse_environment(text: str) -> str:
    if not text:
        return ""
    path = os.path.abspath(os.path.expanduser(text))
    if not os.path.isdir(os.path.join(path, "bin")):
        reason = "the directory has no bin directory" if os.path.isdir(path) else "no such directory"
        raise errors.SettingsError(f"--env-dir {text!r} is not an environment: {reason}")
    return path


def _parse_mount(text: str) -> MountEntry:
    source, _, rest = text.partition(":")
    destination, _, mode = rest.partition(":")
    if not source or not destination or mode not in ("", "ro", "rw"):
        raise errors.SettingsError(f"invalid --mount {text!r}: expected SRC:DST or SRC:DST:ro")
    path = os.path.abspath(os.path.expanduser(source))
    if not os.path.exists(path):
        raise errors.SettingsError(f"invalid --mount {text!r}: {path} does not exist")
    return MountEntry(path, _container_path("--mount", destination), mode == "ro")


def _container_path(flag: str, path: str) -> str:
    if not path.startswith("/"):
        raise errors.SettingsError(f"invalid {flag}: {path!r} must be an absolute path in the container")
    return os.path.normpath(path)


def _parse_variables(given: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    directory = next((text for text in given if "=" not in text and os.path.isdir(os.path.expanduser(text))), "")
    if directory:
        raise errors.SettingsError(f"--env {directory} is a directory: --env sets a variable. Use --env-dir {directory}.")
    return env_options.parse(given, dict(os.environ))


def describe(entry: ImageMapEntry, default: str = "the default environment") -> str:
    parts = [each for each in (entry.environment or default,) if each]
    parts += [f"mount {each.source} at {each.path}{' (read-only)' if each.read_only else ''}" for each in entry.mounts]
    parts += [f"working directory {entry.workdir}"] if entry.workdir else []
    parts += [f"command {shlex.join(entry.command)}"] if entry.command else []
    parts += [f"{name}={value}" for name, value in entry.variables.items()]
    parts += ["with LD_LIBRARY_PATH"] if entry.libraries else []
    return ", ".join(parts)


def table(found: list[tuple[pathlib.Path, ImageMapEntry]], *, wide: bool = False) -> str:
    """wide: with all that a mapping adds to its containers; else it is counted."""
    user = image_map_files.user_path()
    rows = [["IMAGE", "ENVIRONMENT", "ADDS"]]
    for path, entry in found:
        adds = describe(dataclasses.replace(entry, environment=""), default="") if wide else _summary(entry)
        origin = [] if path == user else [f"in {path if wide else 'the cluster'}"]
        rows.append(
            [entry.pattern, home_paths.abbreviate(entry.environment) or "(default)", ", ".join(filter(None, [adds, *origin]))]
        )
    return tables.table(rows)


def _summary(entry: ImageMapEntry) -> str:
    counts = ((len(entry.mounts), "mount"), (len(entry.variables), "variable"))
    parts = [f"{number} {word}{'s' if number > 1 else ''}" for number, word in counts if number]
    named = (("command", entry.command), ("working directory", entry.workdir), ("LD_LIBRARY_PATH", entry.libraries))
    return ", ".join([*parts, *(word for word, value in named if value)])
