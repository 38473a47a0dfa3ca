"""The scheduler: a client of the API that observes the cluster and executes the decisions of `scheduling`."""

from traincrew.embedded.scheduler.loop import Scheduler

__all__ = ["Scheduler"]
