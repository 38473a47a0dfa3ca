"""Indexes by label: a selector need not be matched against every object of a namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Key = tuple[str, str]
"""Namespace and name."""
Label = tuple[str, str, str]
"""Namespace, name and value."""
NONE: Mapping[str, str] = {}


class LabelIndex:
    """Names of objects by each of their labels."""

    def __init__(self) -> None:
        self._names: dict[Label, set[str]] = {}

    def update(self, key: Key, before: Mapping[str, str], labels: Mapping[str, str]) -> None:
        """before: the labels at the previous update."""
        if before == labels:
            return
        namespace, name = key
        for label, value in before.items():
            _drop(self._names, (namespace, label, value), name)
        for label, value in labels.items():
            self._names.setdefault((namespace, label, value), set()).add(name)

    def candidates(self, namespace: str, selector: Mapping[str, str]) -> Iterable[str]:
        """Names of the objects with the rarest of the selector's labels; every match is among them."""
        names: list[set[str]] = [self._names.get((namespace, label, value), set()) for label, value in selector.items()]
        if not names:
            return ()
        rarest = min(names, key=len)
        return sorted(rarest)


class SelectorIndex:
    """Names of objects that have a selector, each by one label of the selector."""

    def __init__(self) -> None:
        self._labels: dict[Key, Label] = {}
        self._names: dict[Label, set[str]] = {}

    def update(self, key: Key, selector: Any) -> None:
        """An object without selector, or with an empty one, selects nothing."""
        if (old := self._labels.pop(key, None)) is not None:
            _drop(self._names, old, key[1])
        if selector:
            label = min(selector)
            new = self._labels[key] = (key[0], label, selector[label])
            self._names.setdefault(new, set()).add(key[1])

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> Iterable[str]:
        return [name for label, value in labels.items() for name in self._names.get((namespace, label, value), ())]


def _drop(names: dict[Label, set[str]], label: Label, name: str) -> None:
    indexed = names.get(label)
    if indexed is not None:
        indexed.discard(name)
        if not indexed:
            del names[label]
