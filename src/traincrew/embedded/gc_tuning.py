"""Settings of Python's cycle collector for a process with many long-lived objects and few cycles."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

THRESHOLDS = (20_000, 20, 50)
"""The default is 700 allocations, as many as the creation of one pod. A collection at this threshold takes 1-2 ms."""


def pause() -> None:
    """While a cluster starts, its process imports modules and builds schemas, which all stay: `tuned` collects again."""
    gc.disable()


@contextlib.contextmanager
def tuned() -> Iterator[None]:
    """Exempts the objects that exist at the start (modules, schemas) from collection, and collects the others less often."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
