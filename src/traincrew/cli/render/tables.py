"""Tables, and the table of jobs."""

from __future__ import annotations

import datetime as dt
import textwrap
from collections.abc import Iterable, Sequence

from traincrew.apimachinery import durations
from traincrew.inspection import observed_job, pod_waiting_reasons
from traincrew.model.meta import Time
from traincrew.planner import failure_summary

MIN_COLUMNS = 80
"""Lines are not cut at fewer columns."""
INDENT = "    "
REASON_LINES = 3
"""Of a reason that is printed below its job."""
RECENT = dt.timedelta(minutes=10)
"""Twice the longest back-off of a container that keeps crashing."""


def table(rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join(aligned(row, widths) for row in rows)


def aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    return "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def cut(text: str, columns: int) -> str:
    """Cut the lines at the width; 0: not cut."""
    most = max(columns, MIN_COLUMNS) if columns else 0
    return "\n".join(line[: most - 1] + "…" if most and len(line) > most else line for line in text.splitlines())


def jobs(views: Iterable[observed_job.ObservedJob], now: Time, *, namespaces: bool = False, columns: int = 0) -> str:
    """columns: the width of the screen; 0: any. Reasons that do not fit are printed below their jobs."""
    rows = [job_head(namespaces=namespaces), *(job_cells(view, now, namespaces=namespaces) for view in views)]
    most = max(columns, MIN_COLUMNS) if columns else 0
    whole = table(rows)
    if not most or all(len(line) <= most for line in whole.splitlines()):
        return whole
    head, *lines = table([row[:-1] for row in rows]).splitlines()
    below = [textwrap.wrap(row[-1], most - len(INDENT), max_lines=REASON_LINES, placeholder=" …") for row in rows[1:]]
    with_reasons = [text for line, why in zip(lines, below, strict=True) for text in (line, *(f"{INDENT}{each}" for each in why))]
    return cut("\n".join([head, *with_reasons]), columns)


_JOB_HEAD = ["KIND", "NAME", "STATE", "RUNNING", "RESTARTS", "AGE", "DURATION", "WHY"]
_TIMES = ("AGE", "DURATION")
_USUAL_WIDTHS = {"NAMESPACE": 12, "KIND": 10, "NAME": 20, "STATE": 10, "RUNNING": 9, "AGE": 6}
"""Of columns whose values become longer while jobs are watched."""


def job_head(*, namespaces: bool) -> list[str]:
    return ["NAMESPACE", *_JOB_HEAD] if namespaces else list(_JOB_HEAD)


def job_cells(observed: observed_job.ObservedJob, now: Time, *, namespaces: bool) -> list[str]:
    cells = _row(observed, now)
    return [observed.job.namespace, *cells] if namespaces else cells


def watched_widths(rows: Sequence[Sequence[str]], *, namespaces: bool) -> list[int]:
    """For rows that follow each other, of which the first are known. Only a row with a longer value than is usual is shifted."""
    head = job_head(namespaces=namespaces)
    cells = zip(*rows, strict=True) if rows else ((),) * len(head)
    return [max(_USUAL_WIDTHS.get(name, 0), len(name), *map(len, column)) for name, column in zip(head, cells, strict=True)]


def without_times(cells: Sequence[str]) -> list[str]:
    """The cells of a job but those that change while the job does not."""
    head = job_head(namespaces=len(cells) > len(_JOB_HEAD))
    return [cell for name, cell in zip(head, cells, strict=True) if name not in _TIMES]


def _row(observed: observed_job.ObservedJob, now: Time) -> list[str]:
    job, status = observed.job, observed.job.status
    active = sum(entry.active for entry in status.replica_statuses.values()) if observed.deleted is None else 0
    return [
        observed.kind.kind,
        job.name,
        f"{observed.state}, deleted" if observed.deleted is not None else observed.state,
        f"{active}/{job.total}{_bounds(observed)}",
        str(restarts(observed)),
        durations.age(job.metadata.creation_timestamp, now),
        duration(observed, now),
        _why(observed, now),
    ]


def _bounds(observed: observed_job.ObservedJob) -> str:
    """Of the workers of a job whose number the operator chooses."""
    elastic = observed.job.status.elastic
    return f" ({elastic.min}-{elastic.max})" if elastic is not None and elastic.members else ""


def restarts(observed: observed_job.ObservedJob) -> int:
    """Restarts of pods, from the status of the job, and of the containers of the current pods.

    The status of a finished job has both: its pods may be deleted.
    """
    recorded = observed.job.status.restarts
    containers = sum(status.restart_count for pod in observed.pods for status in pod.status.container_statuses)
    if observed.job.status.finished:
        return max(recorded.charged + recorded.disruptions, containers)
    return recorded.charged + recorded.disruptions + containers


def _why(observed: observed_job.ObservedJob, now: Time) -> str:
    status = observed.job.status
    text = ""
    if status.why is not None and not status.is_true("Succeeded"):
        known = status.why.reason == failure_summary.REPLICA or f"({status.why.reason})" in status.why.message
        message = pod_waiting_reasons.without_preemption(status.why.message)
        text = message if known else f"{status.why.reason}: {message}"
    elif status.is_true("Failed") and observed.failure is not None:
        text = failure_summary.describe(observed.failure)
    elif not status.finished:
        text = observed.hang or _restarted(observed, now) or _fewer_workers(observed)
    return " ".join(text.split())


def _fewer_workers(observed: observed_job.ObservedJob) -> str:
    """Why an elastic job does not have more workers; empty if it has all that it may have."""
    elastic = observed.job.status.elastic
    if elastic is None or elastic.why is None or elastic.why.reason == "AtMaximum":
        return ""
    return f"{elastic.why.reason}: {elastic.why.message}"


def _restarted(observed: observed_job.ObservedJob, now: Time) -> str:
    """A container that restarted recently after a failure; empty if there is none."""
    for pod in observed.pods:
        for status in pod.status.container_statuses:
            ended = status.last_state.terminated
            if ended is not None and ended.exit_code and ended.finished_at is not None and now - ended.finished_at < RECENT:
                return f"{observed.replica(pod)} restarted after exit code {ended.exit_code}"
    return ""


def duration(observed: observed_job.ObservedJob, now: Time) -> str:
    status = observed.job.status
    if status.start_time is None:
        return "-"
    end = status.completion_time or (observed_job.since(status) if status.finished else None) or observed.deleted or now
    return durations.human((end - status.start_time).total_seconds())
