"""Objects found by their labels, so that a selector need not be held against every object of a namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Key = tuple[str, str]
"""Namespace and name."""


Label = tuple[str, str, str]
"""Namespace, name and value."""
NONE: Mapping[str, str] = {}


class ByLabel:
    """Names of objects by each of their labels."""

    def __init__(self) -> None:
        self._names: dict[Label, set[str]] = {}

    def file(self, key: Key, before: Mapping[str, str], labels: Mapping[str, str]) -> None:
        """What the object's labels were when it was last filed, and what they are."""
        if before == labels:
            return
        namespace, name = key
        for label, value in before.items():
            _drop(self._names, (namespace, label, value), name)
        for label, value in labels.items():
            self._names.setdefault((namespace, label, value), set()).add(name)

    def candidates(self, namespace: str, selector: Mapping[str, str]) -> Iterable[str]:
        """Those that have the rarest of the selector's labels: whoever matches is among them."""
        found: list[set[str]] = [self._names.get((namespace, label, value), set()) for label, value in selector.items()]
        if not found:
            return ()
        rarest = min(found, key=len)
        return sorted(rarest)


class BySelector:
    """Those who select, each by one of the labels that it asks for."""

    def __init__(self) -> None:
        self._held: dict[Key, Label] = {}
        self._names: dict[Label, set[str]] = {}

    def file(self, key: Key, selector: Any) -> None:
        """No selector, or an empty one: it selects nothing."""
        if (old := self._held.pop(key, None)) is not None:
            _drop(self._names, old, key[1])
        if selector:
            label = min(selector)
            new = self._held[key] = (key[0], label, selector[label])
            self._names.setdefault(new, set()).add(key[1])

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> Iterable[str]:
        return [name for label, value in labels.items() for name in self._names.get((namespace, label, value), ())]


def _drop(names: dict[Label, set[str]], label: Label, name: str) -> None:
    held = names.get(label)
    if held is not None:
        held.discard(name)
        if not held:
            del names[label]
