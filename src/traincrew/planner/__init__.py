"""The decisions about a job, as pure functions: `plan(kind, job, observed, now)` returns a `Plan` of actions."""

from traincrew.planner.plan import plan

__all__ = ["plan"]
