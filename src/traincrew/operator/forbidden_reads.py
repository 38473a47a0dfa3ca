"""Resources that the operator may not read. An API server that has just restarted may answer 403 for a moment."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

TOLERATED = dt.timedelta(seconds=60)
"""How long resources that could be read before may be forbidden: kube-apiserver loads the RBAC rules after it listens."""
REPEATED_WITHIN = dt.timedelta(seconds=15)
"""Informers try again every five seconds. An answer that is not repeated is out of date: a watch without changes says nothing."""


class _Answers(NamedTuple):
    last: Exception
    since: dt.datetime
    """The time of the first one."""
    repeated_at: dt.datetime


class ForbiddenReads:
    def __init__(self) -> None:
        self._answers: dict[str, _Answers] = {}

    def lasting(self, answers: Mapping[str, Exception], *, synced: bool, now: dt.datetime) -> str:
        """A resource that must not be read, or empty.

        answers: the last ones of the server, by resource. synced: whether all resources could be read once.
        """
        self._answers = {name: self._with(name, error, now) for name, error in answers.items()}
        lasting = (name for name, each in self._answers.items() if not synced or _lasts(each, now))
        return next(lasting, "")

    def _with(self, name: str, error: Exception, now: dt.datetime) -> _Answers:
        known = self._answers.get(name)
        if known is None:
            return _Answers(error, now, now)
        return known if known.last is error else _Answers(error, known.since, now)

    def are_recent(self, now: dt.datetime) -> bool:
        return any(now < each.repeated_at + REPEATED_WITHIN for each in self._answers.values())


def _lasts(answers: _Answers, now: dt.datetime) -> bool:
    return now >= answers.since + TOLERATED and now < answers.repeated_at + REPEATED_WITHIN
