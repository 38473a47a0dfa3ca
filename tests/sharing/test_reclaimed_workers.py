"""Workers on idle capacity that the scheduler preempts: they cost as much as those that the operator removes."""

from __future__ import annotations

import dataclasses
import datetime as dt

import msgspec
import pytest
from tests.scheduling import builders
from tests.sharing.snapshots import GPU, NOW, applied, elastic_job, gpu_node, pending_pods, snapshot

from traincrew.kinds.elasticity import ResizeCost
from traincrew.model.elastic_allocation import GAVE_BACK, RECLAIMED
from traincrew.model.meta import Time
from traincrew.scheduling.objects import Condition
from traincrew.scheduling.pod_info import PREEMPTION_REASON, PodInfo
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, ElasticJob, Member, SharingDecision
from traincrew.sharing.policy import SharingPolicy

TORCHRUN = ResizeCost(20.0, 20.0, 150.0)
CHARGE = 4 * 100 - 3 * 100 * 0.05
"""What four workers lose of which three came 100 s ago, less what these three have earned."""


def after(seconds: float) -> Time:
    return NOW + dt.timedelta(seconds=seconds)


def job_of_four() -> ElasticJob:
    job = elastic_job("e", ["a"] * 4, cost=TORCHRUN)
    members = (dataclasses.replace(each, running_since=after(-100)) if each.surplus else each for each in job.members)
    return dataclasses.replace(job, members=tuple(members))


def cluster(job: ElasticJob, before: SharingDecision | None = None, *pods: PodInfo) -> ClusterSnapshot:
    """removed members have pods that terminate."""
    ending = [each.pod for each in job.removed_members if each.pod is not None]
    state = snapshot([gpu_node("a", 4)], [*pods, *ending], [job])
    return state if before is None else dataclasses.replace(state, history=before.history)


def preempted(member: Member) -> Member:
    assert member.pod is not None
    meta = msgspec.structs.replace(member.pod.metadata, deletion_timestamp=NOW)
    condition = Condition(type="DisruptionTarget", status="True", reason=PREEMPTION_REASON)
    status = msgspec.structs.replace(member.pod.status, conditions=[condition])
    return dataclasses.replace(member, pod=dataclasses.replace(member.pod, metadata=meta, status=status))


def seen_terminating(job: ElasticJob) -> ElasticJob:
    return dataclasses.replace(job, members=tuple(preempted(each) if each.surplus else each for each in job.members))


def no_longer_recorded(job: ElasticJob) -> ElasticJob:
    """The planner has seen them first."""
    gone = tuple(preempted(each) for each in job.members if each.surplus)
    return dataclasses.replace(job, members=job.members[:1], removed_members=gone)


def without_pods(job: ElasticJob) -> ElasticJob:
    return dataclasses.replace(job, members=(job.members[0], *(Member(index, surplus=True) for index in (1, 2, 3))))


def gone(job: ElasticJob) -> ElasticJob:
    return dataclasses.replace(job, members=job.members[:1])


@pytest.mark.parametrize("state", [seen_terminating, no_longer_recorded, without_pods, gone])
def test_a_preemption_costs_as_much_as_a_removal_by_the_operator(state: object) -> None:
    job = job_of_four()
    first = allocate(cluster(job), NOW)
    own = allocate(cluster(job, first, *pending_pods("c", 3)), NOW)
    assert callable(state)
    others = allocate(cluster(state(job), first), NOW)
    for result in (own, others):
        assert set(result.jobs["e"].members) == {0}
        paid = first.history.jobs["e"].credit - result.history.jobs["e"].credit
        assert paid == pytest.approx(CHARGE)
        assert result.history.jobs["e"].cooldown_until == after(60)
    later = allocate(cluster(gone(job), others), after(1))
    assert later.history.jobs["e"].credit - others.history.jobs["e"].credit == pytest.approx(0.05), "it is paid once"


@pytest.mark.parametrize("period", [60, 200, 600, 3600])
def test_a_job_of_torchrun_is_productive_whatever_the_period_of_the_preemptions(period: int) -> None:
    """The scheduler preempts all workers on idle capacity for pods that come and go. Nine tenths of the time are kept work."""
    job = elastic_job("e", ["a"], cost=TORCHRUN)
    state = snapshot([gpu_node("a", 4)], [], [job], policy=SharingPolicy())
    wave = [pod.with_node("a") for pod in pending_pods("wave", 3)]
    lost, held, changed_at = 0.0, 0.0, 0
    for second in range(0, 6 * 3600, 5):
        before, pods = len(state.jobs[0].members), tuple(pod for pod in state.pods if pod not in wave)
        if second // period % 2 == 1:
            base = state.jobs[0].members[:1]
            pods = (*(each.pod for each in base if each.pod is not None), *wave)
            state = dataclasses.replace(state, jobs=(dataclasses.replace(state.jobs[0], members=base),))
        state = dataclasses.replace(state, pods=pods)
        state = applied(state, allocate(state, after(second)), after(second))
        workers = len(state.jobs[0].members)
        if workers != before:
            pause = TORCHRUN.up if workers > before else TORCHRUN.down
            lost += min(TORCHRUN.redo, second - changed_at) * before + pause * min(before, workers)
            changed_at = second
        held += 5.0 * workers
    assert held > 6 * 3600
    assert lost <= 0.1 * held


def test_workers_that_are_no_longer_recorded_and_still_run_were_not_preempted() -> None:
    """Somebody has emptied the status of the job."""
    job = job_of_four()
    first = allocate(cluster(job), NOW)
    unrecorded = dataclasses.replace(job, members=job.members[:1], removed_members=job.members[1:])
    result = allocate(cluster(unrecorded, first), NOW)
    assert not result.jobs["e"].leaving
    assert result.history.jobs["e"].credit == first.history.jobs["e"].credit


def nominated() -> list[PodInfo]:
    (pod,) = pending_pods("c", 3, status={"nominatedNodeName": "a"})
    return [pod]


def bound(started: float, *, gpus: int = 3, surplus: bool = False) -> PodInfo:
    (waiting,) = pending_pods("c", gpus)
    status = {"phase": "Running", "startTime": builders.START.isoformat()}
    labels = {"traincrew.kubeflow.org/surplus": "true"} if surplus else {}
    pod = builders.pod("c-0", {}, requests={GPU: str(gpus)} if gpus else {}, on="a", status=status, labels=labels)
    meta = msgspec.structs.replace(pod.metadata, owner_references=waiting.metadata.owner_references)
    return dataclasses.replace(pod, metadata=meta, status=msgspec.structs.replace(pod.status, start_time=after(started)))


def test_the_pod_for_which_the_scheduler_preempts_is_named() -> None:
    job = job_of_four()
    result = allocate(cluster(no_longer_recorded(job), allocate(cluster(job), NOW), *nominated()), after(1)).jobs["e"]
    assert {(each.reason, each.claimant) for each in result.leaving.values()} == {(GAVE_BACK, "TFJob team/c")}


@pytest.mark.parametrize("state", [no_longer_recorded, gone])
def test_the_pod_that_came_to_the_node_is_named_when_the_preemption_is_over(state: object) -> None:
    assert callable(state)
    job = job_of_four()
    first = allocate(cluster(job), NOW)
    result = allocate(cluster(state(job), first, bound(1)), after(2)).jobs["e"]
    assert result.reclaimed_for is not None
    assert (result.reclaimed_for.reason, result.reclaimed_for.claimant) == (GAVE_BACK, "TFJob team/c")
    assert result.reclaimed_for.message == f"TFJob team/c needed 3 {GPU}"
    assert (result.reason, "TFJob team/c needed" in result.message) == ("Yielding", True)


def test_it_is_named_although_the_preemption_was_seen_before_it_came() -> None:
    job = job_of_four()
    first = allocate(cluster(job), NOW)
    second = allocate(cluster(no_longer_recorded(job), first), after(1))
    assert {each.reason for each in second.jobs["e"].leaving.values()} == {RECLAIMED}
    assert second.jobs["e"].reclaimed_for is not None
    assert not second.jobs["e"].reclaimed_for.claimant
    third = allocate(cluster(gone(job), second, bound(2)), after(3)).jobs["e"]
    assert third.reclaimed_for is not None
    assert (third.reclaimed_for.claimant, third.reclaimed_at) == ("TFJob team/c", after(1))
    much_later = allocate(cluster(gone(job), second, bound(2)), after(100)).jobs["e"]
    assert much_later.reclaimed_for is None


@pytest.mark.parametrize("pod", [bound(-50), bound(1, gpus=0), bound(1, surplus=True)])
def test_pods_that_were_there_before_or_need_no_device_are_not_named(pod: PodInfo) -> None:
    job = job_of_four()
    result = allocate(cluster(gone(job), allocate(cluster(job), NOW), pod), after(2)).jobs["e"]
    assert result.reclaimed_for is not None
    assert not result.reclaimed_for.claimant
