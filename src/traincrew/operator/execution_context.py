"""What the execution of plans works with, and its result."""

from __future__ import annotations

import dataclasses

from traincrew import errors
from traincrew.client import interfaces
from traincrew.model.resources import Resource
from traincrew.operator.event_backfill import EventBackfill
from traincrew.operator.job_events import JobEventRecorder
from traincrew.operator.metrics import Metrics
from traincrew.operator.observer import Observer


@dataclasses.dataclass
class ActionOutcome:
    """The result of executing a plan."""

    changed: bool = False
    """The observed state has changed: plan again."""
    failed: errors.ApiError | None = None
    """The error of an action that may succeed later; the actions after it were not executed."""
    rejected: bool = False
    """A create was rejected, and not because of its name: creates of the same stage that were not tried yet are not tried now."""
    status_rejected: bool = False
    """The error is the rejection of the new status; the API server will never accept it."""
    retry_in: float | None = None
    """Seconds until a create that is not possible now may be tried again."""
    created: dict[Resource, dict[str, str]] = dataclasses.field(default_factory=dict)
    """Names and UIDs of the created objects that an event announces."""
    deleted: dict[Resource, dict[str, str]] = dataclasses.field(default_factory=dict)

    def postpone(self, seconds: float) -> None:
        self.retry_in = seconds if self.retry_in is None else min(seconds, self.retry_in)


@dataclasses.dataclass(frozen=True)
class ExecutionContext:
    client: interfaces.Client
    observer: Observer
    recorder: JobEventRecorder
    metrics: Metrics
    backfill: EventBackfill
