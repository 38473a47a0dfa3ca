"""Waits for a state of the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.seeds.clusters import TIMEOUT_SECONDS

_PAUSE = 0.02


def until(reached: Callable[[], bool]) -> None:
    """Raises TimeoutError."""
    began = time.monotonic()
    while not reached():
        if time.monotonic() - began > TIMEOUT_SECONDS:
            raise TimeoutError
        time.sleep(_PAUSE)
