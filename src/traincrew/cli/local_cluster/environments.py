"""The environments of this machine that images are mapped to, and what they contain."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterable, Sequence

from traincrew import errors
from traincrew.embedded import data_directory
from traincrew.embedded.kubelet.images import image_map_files, image_names
from traincrew.embedded.kubelet.images.image_map import ImageMapEntry

OWN_IMAGES = "traincrew/"
"""Names of the images of `make frameworks`. They have no default command and no working directory."""


@dataclasses.dataclass(frozen=True)
class ImageEnvironment:
    image: str
    """The name by which a container selects the environment."""
    directory: str

    def has_module(self, module: str) -> bool:
        """module: a name as in `import a.b`."""
        name = module.partition(".")[0]
        packages = pathlib.Path(self.directory).glob("lib*/python3*/site-packages")
        return any(_contains(directory, name) for directory in packages)

    def has_program(self, name: str) -> bool:
        return os.access(os.path.join(self.directory, "bin", name), os.X_OK)


def _contains(directory: pathlib.Path, name: str) -> bool:
    if (directory / name).is_dir() or (directory / f"{name}.py").is_file():
        return True
    return next(directory.glob(f"{name}.*.so"), None) is not None


def mapped(data: pathlib.Path | None = None) -> list[ImageEnvironment]:
    """The environments of the image maps of the user and of the cluster in `data`, each once. Empty if a map cannot be read."""
    return by_directory(
        entry for entry in _entries(data) if os.path.isdir(os.path.join(entry.environment or "/nonexistent", "bin"))
    )


def names(data: pathlib.Path) -> list[str]:
    """All names of images in the maps, without the patterns."""
    return [entry.pattern for entry in _entries(data) if _is_name(entry.pattern)]


def _entries(data: pathlib.Path | None) -> list[ImageMapEntry]:
    paths = [image_map_files.user_path(), image_map_files.cluster_path(data or data_directory.data_directory())]
    try:
        return [entry for path in paths for entry in image_map_files.read(path)]
    except errors.SettingsError:
        return []  # the cluster reports it


def by_directory(entries: Iterable[ImageMapEntry]) -> list[ImageEnvironment]:
    """One image for each environment: one that changes nothing else, if there is one."""
    chosen: dict[str, ImageMapEntry] = {}
    for entry in entries:
        if _is_name(entry.pattern) and _rank(entry) < _rank(chosen.get(entry.environment)):
            chosen[entry.environment] = entry
    return [ImageEnvironment(entry.pattern, directory) for directory, entry in chosen.items()]


def _is_name(pattern: str) -> bool:
    try:
        image_names.parse(pattern)
    except ValueError:
        return False
    return True


def _rank(entry: ImageMapEntry | None) -> tuple[bool, bool, int]:
    if entry is None:
        return (True, True, 1 << 30)
    return (not entry.pattern.startswith(OWN_IMAGES), bool(entry.command or entry.workdir), len(entry.pattern))


def with_modules(found: Iterable[ImageEnvironment], modules: Sequence[str]) -> list[ImageEnvironment]:
    """Those that have all the modules."""
    return [each for each in found if all(each.has_module(module) for module in modules)]
