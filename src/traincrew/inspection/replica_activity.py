"""The activity of the replicas of a running job as lines for people: facts, without a diagnosis. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from traincrew.apimachinery import durations
from traincrew.diagnosis.hang import ReplicaActivity
from traincrew.model.meta import Time

MAX_LINES = 16
"""Replicas that are shown: those that have been silent for the longest time."""


def lines(activities: Sequence[ReplicaActivity], now: Time) -> tuple[str, ...]:
    running = [each for each in activities if each.state == "Running" and _facts(each, now)]
    longest = sorted(running, key=lambda each: (not each.output_is_known, each.last_output or each.started or now))[:MAX_LINES]
    shown = [each for each in running if each in longest]
    width = max((len(each.replica) for each in shown), default=0)
    rest = [f"and {len(running) - len(shown)} more, which printed later"] if len(running) > len(shown) else []
    return (*(f"{each.replica:<{width}}  {_facts(each, now)}" for each in shown), *rest)


def _facts(activity: ReplicaActivity, now: Time) -> str:
    usage = f"uses {activity.cpu:.2f} CPU" if activity.cpu is not None else ""
    return ", ".join(filter(None, (_last_output(activity, now), usage)))


def _last_output(activity: ReplicaActivity, now: Time) -> str:
    if not activity.output_is_known:
        return ""
    if activity.last_output is not None:
        return f"printed its last line {durations.age(activity.last_output, now)} ago"
    return f"has printed nothing since its start {durations.age(activity.started, now)} ago" if activity.started else ""
