"""Builds a value and the lines of its parts from YAML events.

The builder has an explicit stack: the composer of PyYAML is recursive and may overflow the stack.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import yaml

from traincrew.apimachinery import yaml_scalars
from traincrew.apimachinery.findings import ManifestFinding, Path, Value

Positions = Any
"""Beside a mapping: key → (line, Where); beside a list: [(line, Where)]; beside anything else None."""

MAX_DEPTH = 100
"""No Kubernetes object is nested so deeply."""
MAX_SIZE = 1_000_000
"""Values in one document: aliases can expand a few lines beyond all memory."""

_RESOLVED_TAGS = tuple(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))


class YAMLError(Exception):
    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class TooDeepError(YAMLError):
    pass


class AliasError(YAMLError):
    """An alias that has no anchor, or that is inside its own anchor."""

    def __init__(self, line: int, column: int, anchor: str, recursive: bool) -> None:
        super().__init__(line, column, f"*{anchor} {'contains itself' if recursive else 'is an undefined alias'}")
        self.anchor, self.recursive = anchor, recursive


@dataclasses.dataclass(frozen=True)
class DuplicateKey(ManifestFinding):
    """A key that its mapping has already."""

    line: int
    """The line of the repeated key, from 0."""


@dataclasses.dataclass(frozen=True)
class NotFiniteNumber(ManifestFinding):
    """Infinity or NaN, which JSON does not have."""

    scalar: str


@dataclasses.dataclass
class Tree:
    """A part of a document, complete or under construction."""

    line: int
    value: Value = None
    where: Positions = None
    size: int = 1
    anchor: str | None = None
    key: str | None = None
    key_line: int = 0
    is_merge_key: bool = False
    """A plain `<<`, as the part itself or as its pending key. In quotes it is an ordinary key."""
    merged: list[Tree] = dataclasses.field(default_factory=list)


_MERGE = "<<"


class DocumentBuilder:
    """Builds one document from its events."""

    def __init__(self) -> None:
        self.problems: list[ManifestFinding] = []
        self._open: list[Tree] = []
        self._anchors: dict[str, Tree | None] = {}
        self._done: Tree | None = None

    def build(self, events: Iterator[Any]) -> Tree | None:
        """The next document, None at the end of the stream."""
        for event in events:
            if isinstance(event, yaml.DocumentEndEvent):
                return self._done
            self._handle(event)
        return None

    def _handle(self, event: Any) -> None:
        line = event.start_mark.line
        match event:
            case yaml.MappingStartEvent():
                self._begin(event, Tree(line, {}, {}, anchor=event.anchor))
            case yaml.SequenceStartEvent():
                self._begin(event, Tree(line, [], [], anchor=event.anchor))
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._finish(self._open.pop())
            case yaml.ScalarEvent():
                is_merge_key = event.value == _MERGE and event.implicit[0]
                self._finish(Tree(line, self._scalar(event), anchor=event.anchor, is_merge_key=is_merge_key))
            case yaml.AliasEvent():
                self._finish(self._aliased(event))

    def _begin(self, event: Any, tree: Tree) -> None:
        if len(self._open) >= MAX_DEPTH:
            mark = event.start_mark
            raise TooDeepError(mark.line, mark.column, f"is nested more than {MAX_DEPTH} levels deep")
        if tree.anchor:
            self._anchors[tree.anchor] = None
        self._open.append(tree)

    def _aliased(self, event: Any) -> Tree:
        tree = self._anchors.get(event.anchor)
        if tree is None:
            mark = event.start_mark
            raise AliasError(mark.line, mark.column, event.anchor, event.anchor in self._anchors)
        return dataclasses.replace(tree, anchor=None, line=event.start_mark.line)

    def _scalar(self, event: Any) -> Value:
        if not event.implicit[0] and event.tag not in _RESOLVED_TAGS:
            return event.value
        try:
            return yaml_scalars.plain(event.value)
        except yaml_scalars.NotFinite as error:
            self.problems.append(NotFiniteNumber(_path(self._open), str(error), error.text))
            return str(event.value)

    def _finish(self, tree: Tree) -> None:
        for merged in tree.merged:
            _merge(tree, merged)
        if tree.size > MAX_SIZE:
            raise YAMLError(tree.line, 0, f"expands to more than {MAX_SIZE} values")
        if tree.anchor:
            self._anchors[tree.anchor] = tree
        if not self._open:
            self._done = tree
            return
        parent = self._open[-1]
        parent.size += tree.size
        if isinstance(parent.value, list):
            parent.value.append(tree.value)
            parent.where.append((tree.line, tree.where))
        elif parent.key is None:
            parent.key, parent.key_line, parent.is_merge_key = self._as_key(tree), tree.line, tree.is_merge_key
        else:
            self._set(parent, tree)

    def _as_key(self, tree: Tree) -> str:
        match tree.value:
            case str():
                return tree.value
            case bool():
                return "true" if tree.value else "false"
            case int() | float():
                return str(tree.value)
        self.problems.append(ManifestFinding(_path(self._open[:-1]), "a key must be a string, not a list, a mapping or null"))
        return str(tree.value)

    def _set(self, parent: Tree, tree: Tree) -> None:
        key, parent.key = parent.key or "", None
        if parent.is_merge_key:
            parent.is_merge_key = False
            self._add_merge(parent, tree)
            return
        if key in parent.where:
            first = parent.where[key][0] + 1
            path, message = (*_path(self._open[:-1]), key), f"is given twice, first in line {first}"
            self.problems.append(DuplicateKey(path, message, parent.key_line))
        parent.value[key] = tree.value
        parent.where[key] = (parent.key_line, tree.where)

    def _add_merge(self, parent: Tree, tree: Tree) -> None:
        several = isinstance(tree.value, list)
        values, places = (tree.value, tree.where) if several else ([tree.value], [(tree.line, tree.where)])
        for value, (line, where) in zip(values, places, strict=True):
            if isinstance(value, dict):
                parent.merged.append(Tree(line, value, where))
            else:
                self.problems.append(ManifestFinding((*_path(self._open[:-1]), _MERGE), "only mappings can be merged"))


def _path(parts: list[Tree]) -> Path:
    """The path of the next value. Each part is inside the previous one."""
    keys = (len(tree.value) if isinstance(tree.value, list) else tree.key for tree in parts)
    return tuple(key for key in keys if key is not None)


def _merge(tree: Tree, merged: Tree) -> None:
    for key, value in merged.value.items():
        if key not in tree.value:
            tree.value[key] = value
            tree.where[key] = merged.where[key]
