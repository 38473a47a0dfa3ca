"""All decisions about a job, as pure functions: `plan(kind, job, observed, now)` says what to do and when to look again."""

from traincrew.planner.plan import plan

__all__ = ["plan"]
