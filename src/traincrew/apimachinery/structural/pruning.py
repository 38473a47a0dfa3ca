"""Pruning: fields that a structural schema does not know are dropped, and nulls that it does not allow."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.structural.schemas import Structure

META_FIELDS = ("apiVersion", "kind", "metadata")


def prune(value: Any, node: Structure, path: str = "") -> list[str]:
    """Drops unknown fields in place and returns their paths. At the root of an object its type and metadata are kept."""
    pruned: list[str] = []
    _prune(value, node, path, pruned)
    return pruned


def _prune(value: Any, node: Structure | None, path: str, pruned: list[str]) -> None:
    if node is not None and node.preserve:
        _prune_below(value, node, path, pruned)
    elif value.__class__ is dict:
        _prune_object(value, node, path, pruned)
    elif value.__class__ is list:
        for index, inner in enumerate(value):
            if inner.__class__ is dict or inner.__class__ is list:
                _prune(inner, node.items if node is not None else None, f"{path}[{index}]", pruned)


def _prune_object(value: dict[str, Any], node: Structure | None, path: str, pruned: list[str]) -> None:
    kept = META_FIELDS if not path or (node is not None and node.embedded) else ()
    properties, extra = (node.properties, node.extra) if node is not None else ({}, None)
    dropped = []
    for key, inner in value.items():
        child = properties.get(key) or extra
        if key in kept:
            continue
        if child is None:
            dropped.append(key)
        elif inner.__class__ is dict or inner.__class__ is list:
            _prune(inner, child, f"{path}.{key}" if path else key, pruned)
    for key in dropped:
        pruned.append(f"{path}.{key}" if path else key)
        del value[key]


def _prune_below(value: Any, node: Structure, path: str, pruned: list[str]) -> None:
    """Where unknown fields are preserved, known ones may still be pruned inside."""
    if value.__class__ is dict:
        for key, inner in value.items():
            if inner.__class__ is not dict and inner.__class__ is not list:
                continue
            child = node.child(key)
            if child is not None and not (node.embedded and key in META_FIELDS):
                _prune(inner, child, f"{path}.{key}" if path else key, pruned)
    elif value.__class__ is list and node.items is not None:
        for index, inner in enumerate(value):
            _prune_below(inner, node.items, f"{path}[{index}]", pruned)


def drop_nulls(value: Any, node: Structure | None) -> None:
    """Drops nulls in place where the schema does not allow them. Those in lists stay, and those that a default replaces."""
    if node is None:
        return
    if value.__class__ is dict:
        dropped = []
        for key, inner in value.items():
            if inner is None:
                child = node.child(key)
                if child is not None and not child.nullable and child.default is None:
                    dropped.append(key)
            elif inner.__class__ is dict or inner.__class__ is list:
                drop_nulls(inner, node.child(key))
        for key in dropped:
            del value[key]
    elif value.__class__ is list and node.items is not None:
        for inner in value:
            drop_nulls(inner, node.items)
