"""The program `traincrew`. Ctrl-C while it is still loading ends it without a traceback: it has done nothing yet."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from traincrew.cli import main as command
    except KeyboardInterrupt:
        sys.exit(130)
    command.main()
