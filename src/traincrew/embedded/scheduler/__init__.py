"""The scheduler: a client of the API that looks, has `scheduling` decide, and carries that out."""

from traincrew.embedded.scheduler.loop import Scheduler

__all__ = ["Scheduler"]
