"""Tables, and the table of jobs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from traincrew.apimachinery import durations
from traincrew.cli.render import observed_job
from traincrew.model.meta import Time
from traincrew.planner import failure_summary

MIN_COLUMNS = 80
"""Lines are not cut at fewer columns."""
RECENT = dt.timedelta(minutes=10)
"""Twice the longest back-off of a container that keeps crashing."""


def table(rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def jobs(views: Iterable[observed_job.ObservedJob], now: Time, *, namespaces: bool = False, columns: int = 0) -> str:
    """columns: the width at which lines are cut; 0: not cut."""
    head = ["KIND", "NAME", "STATE", "RUNNING", "RESTARTS", "AGE", "DURATION", "WHY"]
    rows = [["NAMESPACE", *head] if namespaces else head]
    for view in views:
        row = _row(view, now)
        rows.append([view.job.namespace, *row] if namespaces else row)
    most = max(columns, MIN_COLUMNS) if columns else 0
    return "\n".join(line[: most - 1] + "…" if most and len(line) > most else line for line in table(rows).splitlines())


def _row(observed: observed_job.ObservedJob, now: Time) -> list[str]:
    job, status = observed.job, observed.job.status
    active = sum(entry.active for entry in status.replica_statuses.values())
    return [
        observed.kind.kind,
        job.name,
        observed.state,
        f"{active}/{job.total}",
        str(restarts(observed)),
        age(job.metadata.creation_timestamp, now),
        duration(observed, now),
        _why(observed, now),
    ]


def restarts(observed: observed_job.ObservedJob) -> int:
    """Restarts of pods, from the status of the job, and of the containers of the current pods."""
    restarted_pods = observed.job.status.restarts
    containers = sum(status.restart_count for pod in observed.pods for status in pod.status.container_statuses)
    return restarted_pods.charged + restarted_pods.disruptions + containers


def _why(observed: observed_job.ObservedJob, now: Time) -> str:
    status = observed.job.status
    text = ""
    if status.why is not None and not status.is_true("Succeeded"):
        # The reason comes first, because the end of the line may be cut.
        text = f"{status.why.reason}: {status.why.message}"
    elif status.is_true("Failed") and observed.failure is not None:
        text = failure_summary.describe(observed.failure)
    elif not status.finished:
        text = _restarted(observed, now)
    return " ".join(text.split())


def _restarted(observed: observed_job.ObservedJob, now: Time) -> str:
    """A container that restarted recently after a failure; empty if there is none."""
    for pod in observed.pods:
        for status in pod.status.container_statuses:
            ended = status.last_state.terminated
            if ended is not None and ended.exit_code and ended.finished_at is not None and now - ended.finished_at < RECENT:
                return f"{observed.replica(pod)} restarted after exit code {ended.exit_code}"
    return ""


def age(moment: Time | None, now: Time) -> str:
    return durations.human((now - moment).total_seconds()) if moment is not None else "-"


def duration(observed: observed_job.ObservedJob, now: Time) -> str:
    status = observed.job.status
    if status.start_time is None:
        return "-"
    end = status.completion_time or (now if not status.finished else observed_job.since(status) or now)
    return durations.human((end - status.start_time).total_seconds())
