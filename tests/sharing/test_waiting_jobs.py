"""What an elastic job below its minimum says, and gangs that are not admitted although there is room."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools

from tests.scheduling import builders
from tests.sharing.snapshots import GPU, NOW, applied, elastic_job, gpu_node, pending_pods, snapshot

from traincrew.model.meta import Time
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, ElasticJob, Member, UnadmittedGang
from traincrew.sharing.policy import SharingPolicy

CORDONED = {"unschedulable": True}
REFUSED = "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) were unschedulable. preemption: none."


def after(seconds: float) -> Time:
    return NOW + dt.timedelta(seconds=seconds)


def drained(bound: int, name: str = "e", **more: int) -> ElasticJob:
    """A job of three workers, of which so many are left on their node after a drain."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": REFUSED}
    waiting = {"phase": "Pending", "conditions": [condition]}
    job = elastic_job(name, ["a"] * bound, wanted=3, max_replicas=3, **more)
    pods = [builders.pod(f"{name}-worker-{index}", requests={GPU: "1"}, status=waiting, age=60) for index in range(bound, 3)]
    return dataclasses.replace(job, members=(*job.members, *(Member(int(pod.metadata.name[-1]), pod) for pod in pods)))


def test_a_job_below_its_minimum_waits_as_long_as_its_nodes_are_drained_and_says_for_what() -> None:
    state = snapshot([gpu_node("a", 1), gpu_node("b", 4, spec=CORDONED)], [], [drained(1, min_replicas=2)])
    for seconds in (0, 600, 7200):
        result = allocate(state, after(seconds))
        given = result.jobs["e"]
        assert (sorted(given.members), dict(given.leaving), given.reason) == ([0, 1, 2], {}, "NoRoom")
        assert "the job waits: 1 of the 2 workers that it needs have a node: 0/2 nodes are available" in given.message
        assert "preemption" not in given.message
        state = dataclasses.replace(state, history=result.history)
    uncordoned = dataclasses.replace(elastic_job("e", ["a", "b", "b"], wanted=3, max_replicas=3, min_replicas=2))
    given = allocate(snapshot([gpu_node("a", 1), gpu_node("b", 4)], [], [uncordoned], history=state.history), after(7260)).jobs[
        "e"
    ]
    assert (sorted(given.members), given.reason) == ([0, 1, 2], "AtMaximum")


def test_a_job_that_runs_without_all_of_its_workers_says_what_the_others_wait_for() -> None:
    given = allocate(snapshot([gpu_node("a", 2), gpu_node("b", 4, spec=CORDONED)], [], [drained(2)]), NOW).jobs["e"]
    assert given.reason == "NoRoom"
    assert "2 of 3 workers have a node: 0/2 nodes are available" in given.message


def test_two_jobs_below_their_minimum_take_nothing_from_each_other() -> None:
    """Each has two of the three workers that it needs. Both say so, and nothing changes, whichever has the higher priority."""
    jobs = [drained(2, "first", min_replicas=3), drained(2, "second", min_replicas=3, priority=5)]
    state = snapshot([gpu_node("a", 4)], [], jobs)
    for seconds in (0, 600, 7200):
        result = allocate(state, after(seconds))
        for given in result.jobs.values():
            assert (sorted(given.members), dict(given.leaving), given.reason) == ([0, 1, 2], {}, "NoRoom")
            assert "the job waits: 2 of the 3 workers that it needs have a node" in given.message
        state = dataclasses.replace(state, history=result.history)
    alone = allocate(dataclasses.replace(state, jobs=state.jobs[:1]), after(7260)).jobs["first"]
    assert sorted(alone.members) == [0, 1, 2], "it keeps what it has when the other is suspended"


def gang(pods: int) -> UnadmittedGang:
    return UnadmittedGang("PyTorchJob team/gang", tuple(pending_pods("gang", 1, pods)))


def workers_after(state: ClusterSnapshot, seconds: int, *, start: int = 0) -> tuple[ClusterSnapshot, list[int]]:
    """The cluster after a time in which decisions are carried out at once, and the number of workers every five seconds."""
    numbers = []
    for second in range(start, start + seconds, 5):
        state = applied(state, allocate(state, after(second)))
        numbers.append(len(state.jobs[0].members))
    return state, numbers


def test_workers_do_not_stay_away_for_a_gang_that_is_not_admitted_although_there_is_room() -> None:
    state = snapshot([gpu_node("a", 4)], [], [elastic_job("e", ["a"] * 4)], unadmitted_gangs=(gang(2),), policy=SharingPolicy())
    state, numbers = workers_after(state, 30)
    assert set(numbers) == {2}, "they leave at once, and the room is kept"
    state, numbers = workers_after(state, 3 * 3600, start=30)
    left = sum(later < earlier for earlier, later in itertools.pairwise(numbers))
    assert max(numbers) == 4, "the job uses the room again"
    assert 2 <= left <= 20, "it is tried again, in the end every ten minutes"
    assert sum(numbers) / len(numbers) > 3.5


def test_a_gang_that_is_admitted_in_time_is_forgotten() -> None:
    state = snapshot([gpu_node("a", 4)], [], [elastic_job("e", ["a"] * 4)], unadmitted_gangs=(gang(2),))
    state, _ = workers_after(state, 20)
    assert state.history.gangs
    state, _ = workers_after(dataclasses.replace(state, unadmitted_gangs=()), 5, start=20)
    assert not state.history.gangs


def test_a_gang_without_room_waits_without_a_limit() -> None:
    """Nobody could leave for it, so it has not been refused: it gets the room as soon as there is some."""
    state = snapshot([gpu_node("a", 4)], [], [elastic_job("e", ["a"] * 2, wanted=2)], unadmitted_gangs=(gang(4),))
    state, _ = workers_after(state, 3600)
    assert all(each.failed == 0 for each in state.history.gangs.values())
