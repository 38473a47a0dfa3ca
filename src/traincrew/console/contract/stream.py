"""Messages of the WebSocket. The field `type` says which one it is."""

from __future__ import annotations

from typing import Literal, dataclass_transform

import msgspec

from traincrew.console.contract import job_detail, jobs, logs, metrics, problems
from traincrew.model.meta import Time


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class ToServer(msgspec.Struct, rename="camel", kw_only=True, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """A message of the page."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class ToPage(msgspec.Struct, rename="camel", kw_only=True, frozen=True, tag_field="type"):
    """A message of the console."""


class Subscribe(ToServer, tag="subscribe", kw_only=True):
    topic: str
    """`jobs?FILTERS`, `job:NAMESPACE/KIND/NAME`, or `logs` and `metrics` instead of `job` with the filters of the REST path."""
    cursor: str = ""
    """jobs, job: the cursor of the last message, to get only what changed since. Empty: begin with a snapshot."""
    positions: dict[str, str] = {}
    """logs: by source the sequence of the last line that the page has. Lines up to it are not sent again."""


class Unsubscribe(ToServer, tag="unsubscribe", kw_only=True):
    topic: str


class JobsSnapshot(ToPage, tag="jobs.snapshot", kw_only=True):
    topic: str
    cursor: str
    data: jobs.JobList


class JobsPatch(ToPage, tag="jobs.patch", kw_only=True):
    topic: str
    cursor: str
    data: jobs.JobListPatch


class JobSnapshot(ToPage, tag="job.snapshot", kw_only=True):
    topic: str
    cursor: str
    data: job_detail.JobDetail


class JobChanges(ToPage, tag="job.patch", kw_only=True):
    topic: str
    cursor: str
    data: job_detail.JobPatch


class LogsSnapshot(ToPage, tag="logs.snapshot", kw_only=True):
    """The first message of a topic that was subscribed without positions: the page discards what it has."""

    topic: str
    data: logs.LogBatch


class LogsPatch(ToPage, tag="logs.patch", kw_only=True):
    topic: str
    data: logs.LogBatch


class MetricsSnapshot(ToPage, tag="metrics.snapshot", kw_only=True):
    topic: str
    data: metrics.JobMetrics


class MetricsPatch(ToPage, tag="metrics.patch", kw_only=True):
    """New points: append those of each series to the ones that the page has. A series that the page does not have is complete."""

    topic: str
    data: metrics.JobMetrics


class End(ToPage, tag="end", kw_only=True):
    """No further message of the topic follows."""

    topic: str
    reason: Literal["Deleted", "Finished", "Limited", "Unsubscribed"]
    """Deleted: the job was deleted. Finished: all logs have ended, and no replica will start again. Limited: there are lines
    after those around the moment that was asked for."""
    message: str


class StreamError(ToPage, tag="error", kw_only=True):
    topic: str
    """Empty: the error is not about a topic."""
    error: problems.ApiError
    retrying: bool
    """The console tries again by itself. False: the topic has ended; subscribe again."""


class ClusterState(ToPage, tag="cluster", kw_only=True):
    """Sent first on each connection, and whenever the API server is lost or found again."""

    state: Literal["connected", "away"]
    """away: what the page shows may be old. The console tries again by itself."""
    reason: str = ""
    """Why the cluster is away: `Unreachable`, or `Unauthorized` if the API server rejects the credentials of the console."""
    message: str = ""
    next_step: str = ""
    """What to do."""
    since: Time


class Heartbeat(ToPage, tag="heartbeat", kw_only=True):
    """Every 15 seconds. A page that gets nothing for 35 seconds connects again."""

    time: Time


PageMessage = Subscribe | Unsubscribe
ConsoleMessage = (
    JobsSnapshot
    | JobsPatch
    | JobSnapshot
    | JobChanges
    | LogsSnapshot
    | LogsPatch
    | MetricsSnapshot
    | MetricsPatch
    | End
    | StreamError
    | ClusterState
    | Heartbeat
)
