"""The image map files: one of the user, and one of the cluster that overrides it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
from collections.abc import Callable, Iterator

from traincrew import errors
from traincrew.embedded import private_files
from traincrew.embedded.kubelet.images import image_map, yaml_lines
from traincrew.embedded.kubelet.images.image_map import ImageMapEntry

NAME = "images.yaml"


def user_path() -> pathlib.Path:
    config = os.environ.get("XDG_CONFIG_HOME") or pathlib.Path.home() / ".config"
    return pathlib.Path(config, "traincrew", NAME)


def cluster_path(data: pathlib.Path) -> pathlib.Path:
    return data / NAME


def read(path: pathlib.Path) -> tuple[ImageMapEntry, ...]:
    """Empty if the file does not exist. Raises SettingsError with every error."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.SettingsError(f"cannot read {path}: {error}") from None
    try:
        return image_map.parse(text, str(path))
    except yaml_lines.YamlErrors as error:
        raise errors.SettingsError(str(error)) from None


def change(
    path: pathlib.Path, make: Callable[[tuple[ImageMapEntry, ...]], tuple[ImageMapEntry, ...]]
) -> tuple[ImageMapEntry, ...]:
    """Reads, changes and writes the file under a lock. Raises SettingsError or OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(path.with_name(f".{path.name}.lock")):
        entries = make(read(path))
        private_files.write(path, image_map.render(entries).encode())
    return entries


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
