"""The event loop of a process: uvloop if it is installed, and stop signals that count once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from traincrew.app import signals


def run(work: Coroutine[Any, Any, None]) -> None:
    with _runner() as runner:
        runner.run(work)
    signals.ignore()


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
