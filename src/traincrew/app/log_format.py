"""Log lines: a constant message with fields, as text for people or as JSON for machines."""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys
from typing import Literal

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _Lines(logging.Formatter):
    def fields(self, record: logging.LogRecord) -> dict[str, object]:
        return {key: value for key, value in vars(record).items() if key not in _STANDARD}

    def when(self, record: logging.LogRecord) -> str:
        return dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def trouble(self, record: logging.LogRecord) -> str:
        return self.formatException(record.exc_info) if record.exc_info else ""


class TextLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {key}={_plain(value)}" for key, value in self.fields(record).items() if value != "")
        line = f"{self.when(record)} {record.levelname:<7} {record.getMessage()}{fields}"
        trouble = self.trouble(record)
        return f"{line}\n{trouble}" if trouble else line


class JsonLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        line = {"time": self.when(record), "level": record.levelname.lower(), "message": record.getMessage()}
        trouble = self.trouble(record)
        extra = {"trace": trouble} if trouble else {}
        return json.dumps({**line, **self.fields(record), **extra}, default=str, ensure_ascii=False)


def _plain(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if any(sign in text for sign in ' "\n=') or not text else text


def configure(form: Literal["text", "json"], level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("asyncio").setLevel(logging.WARNING)
