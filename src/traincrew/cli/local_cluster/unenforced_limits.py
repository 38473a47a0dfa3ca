"""What is said about limits that the node of this machine does not enforce. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Announced = Mapping[str, Any]
"""What the running cluster announces. One of an older version does not announce its limits."""


def of_node(announced: Announced) -> list[str]:
    """A line, if pods can use more than their limits."""
    unenforced = announced.get("unenforced")
    return [f"warning: pods can use more than their limits: {unenforced['why']}"] if unenforced else []


def of_pods(announced: Announced, pod_specs: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line, if pods of these specs have limits that are not enforced."""
    unenforced = announced.get("unenforced")
    if not unenforced:
        return []
    limits = [_limits(container) for spec in pod_specs for container in spec.get("containers") or ()]
    values = [f"{name} {each[name]}" for name in unenforced["resources"] for each in limits if name in each]
    if not values:
        return []
    given = ", ".join(dict.fromkeys(values))
    return [f"warning: the limits of the job ({given}) are not enforced on this node: {unenforced['why']}"]


def _limits(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return (container.get("resources") or {}).get("limits") or {}
