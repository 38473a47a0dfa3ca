"""What a job has failed of, in one line: it stays on the job when its pods and conditions tell nothing any more."""

from __future__ import annotations

from traincrew.model.status import Condition, Failure, JobStatus, Why

LONGEST = 300
REPLICA = "ReplicaFailed"
_ENDINGS = {"Deadline": "DeadlineExceeded", "BackoffLimit": "BackoffLimitExceeded"}


def of(status: JobStatus) -> Why | None:
    """The explanation of a job that has failed; None of others, and where its end was not seen."""
    failed = next((entry for entry in status.conditions if entry.type == "Failed" and entry.status == "True"), None)
    if failed is None or status.ended_by in ("", "Validation"):  # what is invalid is explained by its faults
        return None
    failure = status.failure or status.last_failure
    message = failed.message if failure is None or status.ended_by == "Deadline" else describe(failure)
    return Why(reason=_reason(status, failed, failure), message=message, since=failed.last_transition_time)


def _reason(status: JobStatus, failed: Condition, failure: Failure | None) -> str:
    if status.ended_by in _ENDINGS:
        return _ENDINGS[status.ended_by]
    if failure is None:
        return failed.reason or REPLICA
    return failure.reason if failure.reason not in ("", "Error") else REPLICA


def describe(failure: Failure) -> str:
    """Who, how, and the last line that it wrote: with most programs that is the one that says it."""
    code = f" with exit code {failure.exit_code}" if failure.exit_code is not None else ""
    reason = f" ({failure.reason})" if failure.reason not in ("", "Error") else ""
    verb = "was taken away" if failure.disruption else "failed"
    last = next((line.strip() for line in reversed(failure.message.splitlines()) if line.strip()), "")
    return f"{failure.replica or failure.pod} {verb}{code}{reason}" + (f": {last[:LONGEST]}" if last else "")
