"""How the conditions of a job changed, from the statuses that the recorder has seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from traincrew.console.contract.history import ConditionChange
from traincrew.console.view import recordings
from traincrew.history.records import StatusRecord
from traincrew.model.status import Condition

MAX_CHANGES = 200
"""The last ones. A job that restarts for days has thousands."""


class _Conditions(msgspec.Struct):
    conditions: tuple[Condition, ...] | None = ()


def changes(statuses: Iterable[StatusRecord]) -> list[ConditionChange]:
    """Of the status or the reason of each condition, the oldest first."""
    return list(_changes(statuses))[-MAX_CHANGES:]


def _changes(statuses: Iterable[StatusRecord]) -> Iterator[ConditionChange]:
    known: dict[str, tuple[str, str]] = {}
    for record in statuses:
        for each in msgspec.json.decode(record.status, type=_Conditions).conditions or ():
            before = known.get(each.type)
            if before == (each.status, each.reason):
                continue
            # The recorder may have seen the status later. A new reason alone is no transition: it has no time of its own.
            transition = each.last_transition_time if before is None or before[0] != each.status else None
            known[each.type] = (each.status, each.reason)
            yield ConditionChange(
                time=transition or recordings.moment(record.time),
                type=each.type,
                status=each.status,
                reason=each.reason,
                message=each.message,
            )
