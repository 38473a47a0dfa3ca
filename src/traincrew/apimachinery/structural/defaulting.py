"""Defaulting: the defaults of a structural schema are set where a value has none."""

from __future__ import annotations

import copy
from typing import Any

from traincrew.apimachinery.structural.schemas import Structure


def default(value: Any, node: Structure) -> None:
    """In place."""
    if node.has_defaults:
        _default(value, node)


def _default(value: Any, node: Structure) -> None:
    if value.__class__ is dict:
        for key, child in node.defaults.items():
            if key not in value or (value[key] is None and not child.nullable):
                value[key] = copy.deepcopy(child.default)
        for key, inner in value.items():
            child_node = node.child(key)
            if child_node is None or not (child_node.has_defaults or inner is None):
                continue
            if inner is None and key not in node.properties and not child_node.nullable:
                value[key] = copy.deepcopy(child_node.default)
            _default(value[key], child_node)
    elif value.__class__ is list and node.items is not None:
        for index, inner in enumerate(value):
            if inner is None and not node.items.nullable:
                value[index] = copy.deepcopy(node.items.default)
            _default(value[index], node.items)
