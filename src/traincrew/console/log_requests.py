"""The parameters that select lines of logs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import re2

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.client import pod_logs
from traincrew.console.view import job_filters
from traincrew.console.view.log_lines import LEVELS, LineFilter
from traincrew.inspection import observed_job

DEFAULT_LIMIT, MAX_LIMIT = 5000, 100_000
DEFAULT_TAIL, MAX_TAIL = 1000, 1_000_000
MAX_LINE = 16 * 1024 * 1024
"""Bytes of a line that are read. The rest is dropped, as a container may print without end and without a newline."""
FORMATS = ("json", "ndjson", "text")


@dataclasses.dataclass(frozen=True)
class LogRequest:
    replicas: tuple[str, ...] = ()
    container: str = ""
    lines: LineFilter = LineFilter()
    since: str = ""
    since_seconds: int | None = None
    at: int = 0
    """Nanoseconds since 1970: the lines around this moment. 0: the last lines."""
    tail: int | None = None
    """Of the lines that match. Around a moment: lines from then on, of all logs together."""
    previous: bool = False
    limit: int = DEFAULT_LIMIT
    form: str = "json"
    download: bool = False

    def with_default_tail(self) -> LogRequest:
        """For a view that does not say how many lines it can take."""
        is_limited = self.tail is not None or self.since or self.since_seconds is not None
        return self if is_limited else dataclasses.replace(self, tail=DEFAULT_TAIL)

    def selects(self, replica: str) -> bool:
        return not self.replicas or any(observed_job.matches(replica, each) for each in self.replicas)

    def options(self, *, tail: int | None = None) -> pod_logs.PodLogOptions:
        """For the source of a log. tail: the lines that it selects, before they are filtered."""
        return pod_logs.PodLogOptions(
            previous=self.previous,
            tail=tail,
            since=self.since,
            since_seconds=self.since_seconds,
            max_line=MAX_LINE,
        )


def parse(parameters: Mapping[str, str]) -> LogRequest:
    """Raise SettingsError for values that are not valid. Unknown parameters are ignored."""
    level, form = parameters.get("level", ""), parameters.get("format") or "json"
    if level not in LEVELS:
        raise errors.SettingsError(f"level: {level!r} is not one of {', '.join(filter(None, LEVELS))}")
    if form not in FORMATS:
        raise errors.SettingsError(f"format: {form!r} is not one of {', '.join(FORMATS)}")
    since, since_seconds = _since(parameters.get("since", ""))
    tail = parameters.get("tail")
    limit = job_filters.whole_number("limit", parameters["limit"]) if parameters.get("limit") else DEFAULT_LIMIT
    return LogRequest(
        replicas=tuple(part for part in parameters.get("replica", "").split(",") if part),
        container=parameters.get("container", ""),
        lines=LineFilter(level, _contains(parameters.get("q", ""), regex=parameters.get("regex") == "1")),
        since=since,
        since_seconds=since_seconds,
        at=_at(parameters.get("at", "")),
        tail=min(job_filters.whole_number("tail", tail), MAX_TAIL) if tail else None,
        previous=parameters.get("previous") == "1",
        limit=min(limit, MAX_LIMIT),
        form=form,
        download=parameters.get("download") == "1",
    )


def _since(text: str) -> tuple[str, int | None]:
    if not text:
        return "", None
    if text[-1:] in "smhdw":
        return "", int(job_filters.age(text).total_seconds())
    try:
        return times.rfc3339(times.parse(text).replace(microsecond=0)), None
    except times.TimeError:
        raise errors.SettingsError(f"since: {text!r} is neither a time such as 10m nor 2026-11-15T14:02:28Z") from None


def _at(text: str) -> int:
    try:
        moment = times.parse_optional(text)
    except times.TimeError:
        raise errors.SettingsError(f"at: {text!r} is not a time such as 2026-11-15T14:02:28Z") from None
    return int(moment.timestamp() * 1_000_000) * 1000 if moment is not None else 0


def _contains(text: str, *, regex: bool) -> Callable[[str], bool] | None:
    if not text:
        return None
    if not regex:
        wanted = text.lower()
        return lambda line: wanted in line.lower()
    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(f"(?i){text}", options)
    except re2.error as error:
        raise errors.SettingsError(f"q: {text!r} is not a regular expression: {error}") from None
    return lambda line: pattern.search(line) is not None
