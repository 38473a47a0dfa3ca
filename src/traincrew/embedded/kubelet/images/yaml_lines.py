"""YAML values with their line numbers, for error messages. PURE."""

from __future__ import annotations

from typing import Any, TypeVar

import yaml

T = TypeVar("T")

_TYPE_NAMES = {str: "a string", int: "a number", bool: "true or false"}


class YamlErrors(ValueError):
    """All errors of a file, one per line."""


class YamlNode:
    """A mapping of the file. Collects errors, which `finish` raises together."""

    def __init__(self, node: yaml.MappingNode, file: str, errors: list[str]) -> None:
        self._node, self._file, self._errors = node, file, errors
        self._values = {str(key.value): value for key, value in node.value}
        self._keys = {str(key.value): key for key, value in node.value}

    def only(self, *known: str) -> None:
        for name, key in self._keys.items():
            if name not in known:
                self._add_error(key, f"{name}: unknown field. Known fields: {', '.join(known)}")

    def wrong(self, key: str, why: str) -> None:
        self._add_error(self._values.get(key, self._node), f"{key}: {why}")

    def get(self, key: str, kind: type[T]) -> T | None:
        if key not in self._values:
            return None
        value = _value(self._values[key])
        if value is None or (isinstance(value, kind) and isinstance(value, bool) == (kind is bool)):
            return value
        self.wrong(key, f"must be {_TYPE_NAMES[kind]}")
        return None

    def items(self, key: str) -> list[YamlNode]:
        result = []
        for each in self._sequence(key):
            if isinstance(each, yaml.MappingNode):
                result.append(YamlNode(each, self._file, self._errors))
            else:
                self._add_error(each, f"{key}: every item must be a mapping")
        return result

    def texts(self, key: str) -> list[str]:
        result = []
        for each in self._sequence(key):
            value = _value(each)
            if isinstance(value, str):
                result.append(value)
            else:
                self._add_error(each, f"{key}: every item must be a string. Put it in quotes.")
        return result

    def texts_by_name(self, key: str) -> dict[str, str]:
        node = self._values.get(key)
        if node is None or _value(node) is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.wrong(key, "must be a mapping of names to strings")
            return {}
        result = {}
        for name, value in node.value:
            text = _value(value)
            if isinstance(text, str):
                result[str(name.value)] = text
            else:
                self._add_error(value, f"{key}: {name.value} must be a string. Put it in quotes.")
        return result

    def finish(self) -> None:
        if self._errors:
            raise YamlErrors("\n".join(self._errors))

    def _sequence(self, key: str) -> list[yaml.Node]:
        node = self._values.get(key)
        if node is None or _value(node) is None:
            return []
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self.wrong(key, "must be a list")
        return []

    def _add_error(self, node: yaml.Node, why: str) -> None:
        self._errors.append(f"{self._file}, line {node.start_mark.line + 1}: {why}")


def parse_document(text: str, file: str) -> YamlNode | None:
    """The top-level mapping of the file; None if the file is empty."""
    try:
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise YamlErrors(f"{file}{line}: {getattr(error, 'problem', None) or 'not valid YAML'}") from None
    if node is None:
        return None
    if not isinstance(node, yaml.MappingNode):
        raise YamlErrors(f"{file}, line {node.start_mark.line + 1}: must be a mapping with version and images")
    return YamlNode(node, file, [])


def _value(node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return yaml.SafeLoader("").construct_object(node)
    return node.value
