"""The image map: a file that maps image names to environments. PURE.

::

    version: 1
    images:
    - pattern: "tensorflow/tensorflow:2.*"
      environment: /opt/tf           # a virtual environment, or any prefix with a bin directory
      libraries: true                # adds its lib directory to LD_LIBRARY_PATH
      mounts:
      - {source: /srv/mnist, path: /data, readOnly: true}
      workdir: /examples
      command: [python]
      variables: {OMP_NUM_THREADS: "1"}
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from traincrew.embedded.kubelet.images import image_names, yaml_lines

VERSION = 1
_VARIABLE = re.compile(r"[^=\0]+")


@dataclasses.dataclass(frozen=True)
class MountEntry:
    source: str
    path: str
    read_only: bool = False


@dataclasses.dataclass(frozen=True)
class ImageMapEntry:
    pattern: str
    environment: str = ""
    libraries: bool = False
    mounts: tuple[MountEntry, ...] = ()
    workdir: str = ""
    command: tuple[str, ...] = ()
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """The entry as a mapping, without defaults."""
        document: dict[str, Any] = {"pattern": self.pattern}
        if self.environment:
            document["environment"] = self.environment
        if self.libraries:
            document["libraries"] = True
        if self.mounts:
            document["mounts"] = [_plain_mount(each) for each in self.mounts]
        if self.workdir:
            document["workdir"] = self.workdir
        if self.command:
            document["command"] = list(self.command)
        if self.variables:
            document["variables"] = dict(self.variables)
        return document


def _plain_mount(mount: MountEntry) -> dict[str, Any]:
    return {"source": mount.source, "path": mount.path} | ({"readOnly": True} if mount.read_only else {})


def parse(text: str, file: str) -> tuple[ImageMapEntry, ...]:
    """Raises YamlErrors with every error, each with file and line."""
    root = yaml_lines.parse_document(text, file)
    if root is None:
        return ()
    root.only("version", "images")
    if root.get("version", int) != VERSION:
        root.wrong("version", f"must be {VERSION}: this version of traincrew supports no other")
    entries = [_entry(each) for each in root.items("images")]
    _check_duplicates(root, entries)
    root.finish()
    return tuple(entries)


def _entry(node: yaml_lines.YamlNode) -> ImageMapEntry:
    node.only("pattern", "environment", "libraries", "mounts", "workdir", "command", "variables")
    pattern = node.get("pattern", str) or ""
    try:
        image_names.parse_pattern(pattern)
    except ValueError as error:
        node.wrong("pattern", str(error))
    return ImageMapEntry(
        pattern=pattern,
        environment=_absolute(node, "environment"),
        libraries=node.get("libraries", bool) or False,
        mounts=tuple(_mount(each) for each in node.items("mounts")),
        workdir=_absolute(node, "workdir"),
        command=tuple(node.texts("command")),
        variables=_variables(node),
    )


def _absolute(node: yaml_lines.YamlNode, key: str) -> str:
    value = node.get(key, str) or ""
    if value and not value.startswith("/"):
        node.wrong(key, f"must be an absolute path, got {value!r}")
    return value


def _mount(node: yaml_lines.YamlNode) -> MountEntry:
    node.only("source", "path", "readOnly")
    for key in ("source", "path"):
        if not node.get(key, str):
            node.wrong(key, "is required")
    return MountEntry(_absolute(node, "source"), _absolute(node, "path"), node.get("readOnly", bool) or False)


def _variables(node: yaml_lines.YamlNode) -> dict[str, str]:
    variables = node.texts_by_name("variables")
    for name in variables:
        if not _VARIABLE.fullmatch(name):
            node.wrong("variables", f"{name!r} is not a valid name of a variable")
    return variables


def _check_duplicates(root: yaml_lines.YamlNode, entries: Iterable[ImageMapEntry]) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.pattern in seen:
            root.wrong("images", f"duplicate pattern {entry.pattern!r}")
        seen.add(entry.pattern)


def render(entries: Iterable[ImageMapEntry]) -> str:
    body = {"version": VERSION, "images": [entry.plain() for entry in entries]}
    head = "# Maps image names to environments. Edit this file, or run `traincrew image set`.\n"
    return head + str(yaml.dump(body, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))
