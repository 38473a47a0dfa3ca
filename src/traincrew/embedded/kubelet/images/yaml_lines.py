"""YAML values that know their line, so that a fault can be told with it. PURE."""

from __future__ import annotations

from typing import Any, TypeVar

import yaml

T = TypeVar("T")

_WORDS = {str: "a text", int: "a number", bool: "true or false"}


class YamlErrors(ValueError):
    """Every fault of a file, one a line."""


class YamlNode:
    """A mapping of the file. Faults are gathered and raised together by `finish`."""

    def __init__(self, node: yaml.MappingNode, file: str, faults: list[str]) -> None:
        self._node, self._file, self._faults = node, file, faults
        self._values = {str(key.value): value for key, value in node.value}
        self._keys = {str(key.value): key for key, value in node.value}

    def only(self, *known: str) -> None:
        for name, key in self._keys.items():
            if name not in known:
                self._fault(key, f"{name}: there is no such field; known are {', '.join(known)}")

    def wrong(self, key: str, why: str) -> None:
        self._fault(self._values.get(key, self._node), f"{key}: {why}")

    def get(self, key: str, kind: type[T]) -> T | None:
        if key not in self._values:
            return None
        value = _value(self._values[key])
        if value is None or (isinstance(value, kind) and isinstance(value, bool) == (kind is bool)):
            return value
        self.wrong(key, f"must be {_WORDS[kind]}")
        return None

    def items(self, key: str) -> list[YamlNode]:
        found = []
        for each in self._sequence(key):
            if isinstance(each, yaml.MappingNode):
                found.append(YamlNode(each, self._file, self._faults))
            else:
                self._fault(each, f"{key}: each must be a mapping")
        return found

    def texts(self, key: str) -> list[str]:
        found = []
        for each in self._sequence(key):
            value = _value(each)
            if isinstance(value, str):
                found.append(value)
            else:
                self._fault(each, f"{key}: each must be a text: put it in quotes")
        return found

    def texts_by_name(self, key: str) -> dict[str, str]:
        node = self._values.get(key)
        if node is None or _value(node) is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.wrong(key, "must be a mapping of names to texts")
            return {}
        found = {}
        for name, value in node.value:
            text = _value(value)
            if isinstance(text, str):
                found[str(name.value)] = text
            else:
                self._fault(value, f"{key}: {name.value} must be a text: put it in quotes")
        return found

    def finish(self) -> None:
        if self._faults:
            raise YamlErrors("\n".join(self._faults))

    def _sequence(self, key: str) -> list[yaml.Node]:
        node = self._values.get(key)
        if node is None or _value(node) is None:
            return []
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self.wrong(key, "must be a list")
        return []

    def _fault(self, node: yaml.Node, why: str) -> None:
        self._faults.append(f"{self._file}, line {node.start_mark.line + 1}: {why}")


def parse_document(text: str, file: str) -> YamlNode | None:
    """The mapping that the file holds; None if it holds nothing."""
    try:
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise YamlErrors(f"{file}{line}: {getattr(error, 'problem', None) or 'this is not YAML'}") from None
    if node is None:
        return None
    if not isinstance(node, yaml.MappingNode):
        raise YamlErrors(f"{file}, line {node.start_mark.line + 1}: must be a mapping with version and images")
    return YamlNode(node, file, [])


def _value(node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return yaml.SafeLoader("").construct_object(node)
    return node.value
