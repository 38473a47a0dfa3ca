"""Types of the Kubernetes API that decode themselves: quantities, times, IntOrString, bytes."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import go_base64, quantities, times
from traincrew.embedded.apiserver.schema import json_tree
from traincrew.embedded.apiserver.schema.json_tree import Literal, Members


def described(node: Any) -> str:
    if isinstance(node, Members | list):
        return "object" if isinstance(node, Members) else "array"
    if isinstance(node, bool):
        return "bool"
    return "number" if isinstance(node, Literal) else "string"


class WrongType(Exception):
    def __init__(self, value: str, go: str) -> None:
        super().__init__(value)
        self.value, self.go = value, go


def _quantity(node: Any) -> str:
    # Any scalar is accepted; lists and objects are not.
    return quantities.canonical(node if isinstance(node, str) else "[]")


def _time(node: Any) -> str | None:
    return times.canonical(_string(node))


def _micro_time(node: Any) -> str | None:
    return times.canonical_micro(_string(node))


def _string(node: Any) -> str:
    if isinstance(node, str) and not isinstance(node, Literal):
        return node
    raise WrongType(described(node), "string")


def _int_or_string(node: Any) -> int | str:
    if isinstance(node, Literal):
        number = int(node) if node.removeprefix("-").isdigit() else 2**40
        if -(2**31) <= number < 2**31:
            return number
        raise WrongType(f"number {node}", "int32")
    if isinstance(node, str):
        return json_tree.text(node)
    raise WrongType(described(node), "int32")


def _bytes(node: Any) -> str:
    if isinstance(node, str) and not isinstance(node, Literal):
        return go_base64.canonical(node)
    if isinstance(node, list) and all(isinstance(inner, Literal) and inner.isdigit() and int(inner) < 256 for inner in node):
        return go_base64.encode(bytes(int(inner) for inner in node))
    raise WrongType(described(node), "[]uint8")


CUSTOM_DECODERS = {
    "quantity": _quantity,
    "date-time": _time,
    "micro-time": _micro_time,
    "int-or-string": _int_or_string,
    "byte": _bytes,
}
