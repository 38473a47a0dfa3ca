"""What is said if pods of this machine cannot reach external networks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def of_node(announced: Mapping[str, Any]) -> list[str]:
    """A line, if the pods have no egress. announced: by the running cluster; one of an older version does not say it."""
    return [f"warning: {announced['no_egress']}"] if announced.get("no_egress") else []
