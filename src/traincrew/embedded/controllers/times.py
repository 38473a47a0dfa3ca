"""Times as the API writes them: whole seconds, UTC."""

from __future__ import annotations

import datetime as dt


def render(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def seconds_until(moment: dt.datetime, now: dt.datetime) -> float:
    return (moment - now).total_seconds()
