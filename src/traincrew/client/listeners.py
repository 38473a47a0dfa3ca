"""Calls of listeners. The failure of one is logged: the others learn of the change, and the watch goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVarTuple

log = logging.getLogger(__name__)

Ts = TypeVarTuple("Ts")


def notify(listeners: Iterable[Callable[[*Ts], None]], *change: *Ts) -> None:
    for listener in listeners:
        try:
            listener(*change)
        except Exception:
            log.exception("listener failed", extra={"listener": getattr(listener, "__qualname__", repr(listener))})
