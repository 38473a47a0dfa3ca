"""Values as CEL sees them: of the metadata only the names, escaped names of properties, numbers as the schema types them."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.structural.schemas import Structure
from traincrew.embedded.apiserver.schema import cel_names
from traincrew.embedded.apiserver.schema.cel_rules import ValidationRule


def to_cel(value: Any, node: Structure, rule: ValidationRule, root: bool) -> Any:
    """The value as CEL sees it: of the metadata only the names, and only the fields that the rule reads."""
    if value.__class__ is not dict:
        return _converted(value, node)
    if root:
        meta = value.get("metadata")
        named = {key: meta[key] for key in ("name", "generateName") if key in meta} if isinstance(meta, dict) else {}
        value = {**value, "metadata": named}
    if rule.parts is not None:
        value = {key: inner for key, inner in value.items() if cel_names.escaped(key) in rule.parts}
    elif rule.inner_parts is not None:
        value = {key: _selected_fields(inner, rule.inner_parts) for key, inner in value.items()}
    return _converted(value, node)


def _selected_fields(value: Any, parts: frozenset[str]) -> Any:
    return {key: inner for key, inner in value.items() if cel_names.escaped(key) in parts} if isinstance(value, dict) else value


def _is_plain(node: Structure) -> bool:
    """Whether values need no conversion: all names are valid in CEL, and no integer is a float."""
    if node.as_is is None:
        parts = [*node.properties.values(), *(part for part in (node.extra, node.items) if part is not None)]
        own = node.types != ("number",) and all(cel_names.escaped(key) == key for key in node.properties)
        node.as_is = own and all(map(_is_plain, parts))
    return node.as_is


def _converted(value: Any, node: Structure | None) -> Any:
    if node is None or _is_plain(node):
        return value
    if value.__class__ is dict:
        names = {key: cel_names.escaped(key) for key in value if key in node.properties}
        return {names.get(key, key): _converted(inner, node.child(key)) for key, inner in value.items()}
    if value.__class__ is list:
        return [_converted(inner, node.items) for inner in value]
    return float(value) if value.__class__ is int and node.types == ("number",) else value
