"""Log lines: a constant message with fields, as text for people or as JSON for machines."""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys
from typing import Literal

from traincrew.apimachinery import times
from traincrew.apimachinery.terminal_text import printable

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _Formatter(logging.Formatter):
    def fields(self, record: logging.LogRecord) -> dict[str, object]:
        return {key: value for key, value in vars(record).items() if key not in _STANDARD}

    def timestamp(self, record: logging.LogRecord) -> str:
        return times.rfc3339_milli(dt.datetime.fromtimestamp(record.created, dt.UTC))

    def traceback(self, record: logging.LogRecord) -> str:
        return self.formatException(record.exc_info) if record.exc_info else ""


class TextFormatter(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {key}={_quoted(value)}" for key, value in self.fields(record).items() if value != "")
        line = f"{self.timestamp(record)} {record.levelname:<7} {record.getMessage()}{fields}"
        traceback = self.traceback(record)
        return f"{line}\n{traceback}" if traceback else line


class JsonFormatter(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {"time": self.timestamp(record), "level": record.levelname.lower(), "message": record.getMessage()}
        traceback = self.traceback(record)
        extra = {"trace": traceback} if traceback else {}
        return json.dumps({**line, **self.fields(record), **extra}, default=str, ensure_ascii=False)


def _quoted(value: object) -> str:
    text = str(value)
    quotes = any(sign in text for sign in ' "\n=') or not text
    return printable(json.dumps(text, ensure_ascii=False) if quotes else text)


def configure(form: Literal["text", "json"], level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("asyncio").setLevel(logging.WARNING)
