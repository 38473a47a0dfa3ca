"""Whether two values are the same JSON."""

from __future__ import annotations

from typing import Any

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode


def same(one: Any, other: Any) -> bool:
    """To Python True is 1, and so is 1.0; in JSON they are three."""
    return bool(one == other) and _encode(one) == _encode(other)
