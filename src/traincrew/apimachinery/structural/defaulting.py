"""Defaulting: the defaults of a structural schema are set where a value has none."""

from __future__ import annotations

import copy
from typing import Any

from traincrew.apimachinery.structural.schemas import Structure

MAX_BYTES = 3 * 2**19
"""Of all defaults that are set in one object, in JSON. A large default of the items of a long list could fill the memory."""


class DefaultsTooLarge(Exception):
    """The object is defaulted in part."""


class _Defaulter:
    def __init__(self) -> None:
        self._left = MAX_BYTES

    def value_of(self, node: Structure) -> Any:
        self._left -= node.default_size()
        if self._left < 0:
            raise DefaultsTooLarge(f"the defaults of the object have more than {MAX_BYTES} bytes")
        return copy.deepcopy(node.default)

    def default(self, value: Any, node: Structure) -> None:
        if value.__class__ is dict:
            self._default_object(value, node)
        elif value.__class__ is list and node.items is not None:
            for index, inner in enumerate(value):
                if inner is None and not node.items.nullable:
                    value[index] = self.value_of(node.items)
                self.default(value[index], node.items)

    def _default_object(self, value: dict[str, Any], node: Structure) -> None:
        for key, child in node.defaults.items():
            if key not in value or (value[key] is None and not child.nullable):
                value[key] = self.value_of(child)
        for key, inner in value.items():
            child_node = node.child(key)
            if child_node is None or not (child_node.has_defaults or inner is None):
                continue
            if inner is None and key not in node.properties and not child_node.nullable:
                value[key] = self.value_of(child_node)
            self.default(value[key], child_node)


def default(value: Any, node: Structure) -> None:
    """In place. Raises DefaultsTooLarge."""
    if node.has_defaults:
        _Defaulter().default(value, node)
