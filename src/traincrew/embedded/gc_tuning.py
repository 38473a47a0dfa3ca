"""Python's garbage collector, in a process that holds much and makes little that hangs together in circles."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

SELDOM = (20_000, 20, 50)
"""Instead of every 700 objects: one pod's creation alone makes as many. A look at this many takes a millisecond or two."""


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """What is there when this is entered (modules, schemas) is not looked through again, what comes later is, but seldom."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
