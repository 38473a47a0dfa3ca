"""The lines of `why` about the activity of replicas."""

from __future__ import annotations

import datetime as dt

from traincrew.diagnosis.hang import ReplicaActivity
from traincrew.inspection import replica_activity

NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


def ago(seconds: int) -> dt.datetime:
    return NOW - dt.timedelta(seconds=seconds)


def test_each_fact_that_is_known_is_said() -> None:
    activities = [
        ReplicaActivity("master-0", started=ago(600), last_output=ago(150), cpu=1.004),
        ReplicaActivity("worker-0", started=ago(600)),
        ReplicaActivity("worker-10", started=ago(600), last_output=NOW, output_is_known=False, cpu=0.0),
        ReplicaActivity("worker-11", started=ago(600), last_output=NOW, output_is_known=False),
        ReplicaActivity("worker-12", state="Succeeded", started=ago(600)),
    ]
    assert replica_activity.lines(activities, NOW) == (
        "master-0   printed its last line 2m30s ago, uses 1.00 CPU",
        "worker-0   has printed nothing since its start 10m ago",
        "worker-10  uses 0.00 CPU",
    )


def test_of_many_replicas_the_most_silent_ones_are_shown() -> None:
    activities = [ReplicaActivity(f"worker-{index}", started=ago(600), last_output=ago(index)) for index in range(40)]
    shown = replica_activity.lines(activities, NOW)
    assert shown[0].startswith("worker-24 ")
    assert shown[-2:] == ("worker-39  printed its last line 39s ago", "and 24 more, which printed later")
