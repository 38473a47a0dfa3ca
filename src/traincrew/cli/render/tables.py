"""Columns, and the list of jobs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from traincrew.apimachinery import durations
from traincrew.cli.render import view
from traincrew.model.meta import Time
from traincrew.planner import failure_summary

NARROWEST = 80
"""Columns that are used even on a screen that has fewer."""
LATELY = dt.timedelta(minutes=10)
"""Twice as long as a container that fails again and again ever waits to be started."""


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows under their heads, as wide as they need to be."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def jobs(views: Iterable[view.View], now: Time, *, namespaces: bool = False, columns: int = 0) -> str:
    """Lines longer than so many columns are cut; 0: none is."""
    head = ["KIND", "NAME", "STATE", "RUNNING", "RESTARTS", "AGE", "DURATION", "WHY"]
    rows = [["NAMESPACE", *head] if namespaces else head]
    for each in views:
        row = _row(each, now)
        rows.append([each.job.namespace, *row] if namespaces else row)
    most = max(columns, NARROWEST) if columns else 0
    return "\n".join(line[: most - 1] + "…" if most and len(line) > most else line for line in table(rows).splitlines())


def _row(each: view.View, now: Time) -> list[str]:
    job, status = each.job, each.job.status
    active = sum(entry.active for entry in status.replica_statuses.values())
    return [
        each.kind.kind,
        job.name,
        each.state,
        f"{active}/{job.total}",
        str(restarts(each)),
        age(job.metadata.creation_timestamp, now),
        took(each, now),
        _why(each, now),
    ]


def restarts(each: view.View) -> int:
    """Of pods, as the job's book has them, and of containers inside the pods that there are."""
    book = each.job.status.restarts
    inside = sum(status.restart_count for pod in each.pods for status in pod.status.container_statuses)
    return book.charged + book.disruptions + inside


def _why(each: view.View, now: Time) -> str:
    status = each.job.status
    text = ""
    if status.why is not None and not status.is_true("Succeeded"):
        # The reason goes first: what is cut off is the end.
        text = f"{status.why.reason}: {status.why.message}"
    elif status.is_true("Failed") and each.failure is not None:
        text = failure_summary.describe(each.failure)
    elif not status.finished:
        text = _restarted(each, now)
    return " ".join(text.split())


def _restarted(each: view.View, now: Time) -> str:
    """Between two crashes a container runs, and nothing keeps it from that."""
    for pod in each.pods:
        for status in pod.status.container_statuses:
            ended = status.last_state.terminated
            if ended is not None and ended.exit_code and ended.finished_at is not None and now - ended.finished_at < LATELY:
                return f"{each.replica(pod)} restarted after exit code {ended.exit_code}"
    return ""


def age(moment: Time | None, now: Time) -> str:
    return durations.human((now - moment).total_seconds()) if moment is not None else "-"


def took(each: view.View, now: Time) -> str:
    status = each.job.status
    if status.start_time is None:
        return "-"
    end = status.completion_time or (now if not status.finished else view.since(status) or now)
    return durations.human((end - status.start_time).total_seconds())
