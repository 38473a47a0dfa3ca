"""Filters and order of the list of jobs, as the parameters of `GET jobs` say."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from traincrew import errors
from traincrew.apimachinery import selectors
from traincrew.console.contract.jobs import JobList, JobSummary, UnreadableKind
from traincrew.model.meta import Time

STALLED = "Stalled"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_ORDERS: dict[str, Callable[[JobSummary], Any]] = {
    "created": lambda job: job.created.timestamp() if job.created else 0.0,
    "name": lambda job: job.name,
    "namespace": lambda job: (job.namespace, job.name),
    "kind": lambda job: (job.kind, job.name),
    "status": lambda job: (job.status, job.name),
}


@dataclasses.dataclass(frozen=True)
class JobFilter:
    namespaces: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset()
    queue: str = ""
    owner: str = ""
    labels: tuple[selectors.Requirement, ...] = ()
    text: str = ""
    since: dt.timedelta | None = None
    sort: str = "-created"
    limit: int | None = None

    def matches(self, job: JobSummary, now: Time) -> bool:
        return self.matches_but_status(job, now) and self.has_status(job)

    def has_status(self, job: JobSummary) -> bool:
        return not self.statuses or job.status in self.statuses or (bool(job.stalled) and STALLED in self.statuses)

    def matches_but_status(self, job: JobSummary, now: Time) -> bool:
        return (
            (not self.namespaces or job.namespace in self.namespaces)
            and (not self.kinds or job.kind in self.kinds)
            and (not self.queue or job.queue == self.queue)
            and (not self.owner or job.owner == self.owner)
            and selectors.matches(self.labels, job.labels)
            and (self.since is None or job.created is None or now - job.created <= self.since)
            and (not self.text or self.text in _searched(job))
        )


def _searched(job: JobSummary) -> str:
    why = f"{job.why.reason} {job.why.message}" if job.why is not None else ""
    return f"{job.name}\n{job.description}\n{why}".lower()


def parse(parameters: Mapping[str, str]) -> JobFilter:
    """Unknown parameters are ignored. Raise SettingsError for values that are not valid."""
    return JobFilter(
        namespaces=_names(parameters.get("ns", "")),
        kinds=frozenset(each.lower() for each in _names(parameters.get("kind", ""))),
        statuses=frozenset(each.capitalize() for each in _names(parameters.get("status", ""))),
        queue=parameters.get("queue", ""),
        owner=parameters.get("owner", ""),
        labels=_selector(parameters.get("label", "")),
        text=parameters.get("q", "").lower(),
        since=age(parameters["since"]) if parameters.get("since") else None,
        sort=_sort(parameters.get("sort") or "-created"),
        limit=whole_number("limit", parameters["limit"]) if parameters.get("limit") else None,
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def _selector(text: str) -> tuple[selectors.Requirement, ...]:
    try:
        return selectors.parse_labels(text)
    except selectors.SelectorError as error:
        raise errors.SettingsError(f"label: {error}") from None


def _sort(text: str) -> str:
    if text.removeprefix("-") not in _ORDERS:
        raise errors.SettingsError(f"sort: {text!r} is not one of {', '.join(_ORDERS)}")
    return text


def age(text: str) -> dt.timedelta:
    """`90s`, `10m`, `6h`, `7d`, `2w`."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isdecimal() or len(number) > 6:
        raise errors.SettingsError(f"since: {text!r} is not a time such as 10m, 6h or 7d")
    return dt.timedelta(seconds=int(number) * _UNITS[unit])


def whole_number(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise errors.SettingsError(f"{name}: {text!r} is not a whole number")
    return int(text)


def select(wanted: JobFilter, jobs: Iterable[JobSummary], unreadable: list[UnreadableKind], now: Time) -> JobList:
    candidates = [job for job in jobs if wanted.matches_but_status(job, now)]
    found = sorted((job for job in candidates if wanted.has_status(job)), key=lambda job: (job.namespace, job.kind, job.name))
    descending = wanted.sort.startswith("-")
    found.sort(key=_ORDERS[wanted.sort.removeprefix("-")], reverse=descending)
    return JobList(jobs=found[: wanted.limit], counts=counts(candidates), total=len(found), unreadable=unreadable)


def counts(jobs: Iterable[JobSummary]) -> dict[str, int]:
    found = collections.Counter[str]()
    for job in jobs:
        found[job.status] += 1
        found[STALLED] += bool(job.stalled)
    return {status: number for status, number in found.items() if number}
