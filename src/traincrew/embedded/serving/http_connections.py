"""What an HTTP server has to say about connections: little, for the bytes of a broken request may hold a token."""

from __future__ import annotations

import logging


class _Brief(logging.Filter):
    """Handlers see to their own faults; what is left are requests that are none and clients that went away."""

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0] if record.exc_info else None
        record.msg, record.args = "a connection broke off, or brought no request", ()
        record.exc_info = record.exc_text = None
        if kind is not None:
            record.fault = kind.__name__
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        return logging.getLogger().isEnabledFor(logging.DEBUG)


def connection_logger() -> logging.Logger:
    """For the HTTP library, in place of its own."""
    found = logging.getLogger(__name__)
    if not found.filters:
        found.addFilter(_Brief())
    return found
