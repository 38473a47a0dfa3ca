"""Why a job failed, in one line that the status keeps after the pods are deleted."""

from __future__ import annotations

from traincrew.diagnosis import readable_lines
from traincrew.model.status import Condition, Failure, JobStatus, Why

LINE_LIMIT = 300
REPLICA = "ReplicaFailed"
ENDINGS = {"Deadline": "DeadlineExceeded", "BackoffLimit": "BackoffLimitExceeded"}


def of(status: JobStatus) -> Why | None:
    """The summary of a failed job. None for other jobs, and for jobs that another operator finished."""
    failed = next((entry for entry in status.conditions if entry.type == "Failed" and entry.status == "True"), None)
    if failed is None or status.ended_by in ("", "Validation"):  # the violations explain an invalid job
        return None
    failure = status.ending_failure
    message = failed.message if failure is None or status.ended_by == "Deadline" else describe(failure)
    return Why(reason=_reason(status, failed, failure), message=message, since=failed.last_transition_time)


def _reason(status: JobStatus, failed: Condition, failure: Failure | None) -> str:
    if status.ended_by in ENDINGS:
        return ENDINGS[status.ended_by]
    if failure is None:
        return failed.reason or REPLICA
    return failure.reason if failure.reason not in ("", "Error") else REPLICA


def describe(failure: Failure) -> str:
    """Replica, exit code and cause. Without a cause: the message of a disruption, or the last line of the output."""
    code = f" with exit code {failure.exit_code}" if failure.exit_code is not None else ""
    reason = f" ({failure.reason})" if failure.reason not in ("", "Error") else ""
    verb = "was disrupted" if failure.disruption else "failed"
    text = failure.cause or _last_line(failure)
    return f"{failure.replica or failure.pod} {verb}{code}{reason}" + (f": {text[:LINE_LIMIT]}" if text else "")


def _last_line(failure: Failure) -> str:
    """Of a disruption: of the message that explains it. Else of the output: earlier versions recorded no cause."""
    line = next((line.strip() for line in reversed(failure.message.splitlines()) if line.strip()), "")
    return line if failure.disruption or not line else readable_lines.quote_last_line(line)
