"""How many examples property tests try.

A small, fixed set by default; with `TRAINCREW_EXAMPLES=2000` that many, each time others.
"""

from __future__ import annotations

import os

import hypothesis

_MANY = os.environ.get("TRAINCREW_EXAMPLES")


def max_examples(number: int, steps: int = 30) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=int(_MANY or number),
        stateful_step_count=steps,
        derandomize=_MANY is None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        database=None,
    )
