"""The logger for HTTP connections. It hides the content of broken requests, which may hold a token."""

from __future__ import annotations

import logging


class _Brief(logging.Filter):
    """Handlers report their own errors. The rest are malformed requests and disconnects."""

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0] if record.exc_info else None
        record.msg, record.args = "malformed request or disconnect", ()
        record.exc_info = record.exc_text = None
        if kind is not None:
            record.fault = kind.__name__
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        return logging.getLogger().isEnabledFor(logging.DEBUG)


def connection_logger() -> logging.Logger:
    """Replaces the logger of the HTTP library."""
    logger = logging.getLogger(__name__)
    if not logger.filters:
        logger.addFilter(_Brief())
    return logger
