"""How the conditions of a job changed."""

from __future__ import annotations

import json

from traincrew.console.view import condition_changes
from traincrew.history.records import StatusRecord

FIRST = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:01:00Z"
SEEN = 1_767_225_700_000  # 2026-01-01T00:01:40Z


def condition(type: str, status: str, reason: str, since: str) -> dict[str, str]:
    return {"type": type, "status": status, "reason": reason, "message": f"{reason}.", "lastTransitionTime": since}


def status(time: int, *conditions: dict[str, str]) -> StatusRecord:
    return StatusRecord("uid", time, json.dumps({"conditions": list(conditions)}).encode())


def reported(*statuses: StatusRecord) -> list[tuple[str, str, str]]:
    return [(each.type, each.status, f"{each.time:%H:%M:%S}") for each in condition_changes.changes(statuses)]


def test_each_change_is_there_once_with_the_time_of_its_transition() -> None:
    created = condition("Created", "True", "JobCreated", FIRST)
    running = condition("Running", "True", "JobRunning", LATER)
    assert reported(status(1, created), status(SEEN, created, running), status(SEEN + 1, created, running)) == [
        ("Created", "True", "00:00:00"),
        ("Running", "True", "00:01:00"),
    ]


def test_a_condition_that_ends_and_comes_again_is_there_each_time() -> None:
    statuses = [status(SEEN, condition("Running", value, "JobRunning", FIRST)) for value in ("True", "False", "True")]
    assert [each[1] for each in reported(*statuses)] == ["True", "False", "True"]


def test_another_reason_is_a_change_at_the_time_when_it_was_seen() -> None:
    before, after = (condition("Running", "False", reason, FIRST) for reason in ("JobRestarting", "JobSuspended"))
    assert reported(status(1, before), status(SEEN, after))[1] == ("Running", "False", "00:01:40")


def test_a_status_without_conditions_has_no_changes() -> None:
    assert reported(StatusRecord("uid", 1, b"{}"), StatusRecord("uid", 2, b'{"conditions": null}')) == []


def test_of_many_changes_the_last_are_reported() -> None:
    statuses = [status(at, condition("Running", str(at % 2 == 0), "Again", FIRST)) for at in range(1000)]
    assert len(reported(*statuses)) == condition_changes.MAX_CHANGES
