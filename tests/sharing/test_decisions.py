"""Decisions about elastic jobs, one rule at a time."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import msgspec
import pytest
from tests.scheduling import builders
from tests.sharing.snapshots import EAGER, GPU, NOW, applied, elastic_job, gpu_node, pending_pods, snapshot, worker

from traincrew.kinds.elasticity import ResizeCost
from traincrew.model import resources
from traincrew.model.observed import RejectedWrite
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, ElasticJob, Member, QuotaRejection, SharingDecision
from traincrew.sharing.policy import SharingPolicy
from traincrew.sharing.termination_notices import SHUTTING_DOWN

SPOT_TERMINATION = {"taints": [{"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}]}
GANG = {"scheduling.x-k8s.io/pod-group": "gang"}


def after(seconds: float) -> dt.datetime:
    return NOW + dt.timedelta(seconds=seconds)


def count(result: SharingDecision, uid: str = "e") -> int:
    return len(result.jobs[uid].members)


def replayed(state: ClusterSnapshot, *, seconds: float, step: float = 5.0) -> ClusterSnapshot:
    """The snapshot after this time, in which decisions are carried out at once."""
    passed = 0.0
    while passed <= seconds:
        state = applied(state, allocate(state, after(passed)))
        passed += step
    return state


def numbers(state: ClusterSnapshot) -> dict[str, int]:
    return {job.uid: len(job.members) for job in state.jobs}


def test_a_job_takes_all_idle_devices_up_to_its_maximum() -> None:
    result = allocate(snapshot([gpu_node("a", 8)], jobs=[elastic_job("e", ["a"])]), NOW)
    assert count(result) == 4
    assert result.jobs["e"].surplus == {1, 2, 3}
    assert set(result.jobs["e"].node_hints.values()) == {"a"}


def test_idle_devices_must_stay_idle_for_a_while_first() -> None:
    state = snapshot([gpu_node("a", 8)], jobs=[elastic_job("e", ["a"])], policy=SharingPolicy())
    first = allocate(state, NOW)
    assert (count(first), first.jobs["e"].reason, first.requeue_at) == (1, "Settling", after(10))
    assert count(allocate(dataclasses.replace(state, history=first.history), after(10))) == 4


def test_a_worker_that_is_preempted_soon_after_it_came_is_not_granted_again() -> None:
    state = snapshot([gpu_node("a", 2)], jobs=[elastic_job("e", ["a"], max_replicas=2)])
    grown = applied(state, allocate(state, NOW))
    seen = allocate(grown, after(1))
    assert (count(seen), set(seen.jobs["e"].surplus)) == (2, {1})
    (job,) = grown.jobs
    preempted = dataclasses.replace(job, members=job.members[:1])
    waiting = pending_pods("other")
    result = allocate(dataclasses.replace(state, pods=tuple(waiting), jobs=(preempted,), history=seen.history), after(2))
    assert sorted(result.jobs["e"].members) == [0]


def test_two_jobs_that_both_could_have_all_get_half_each_and_a_third_gets_its_minimum() -> None:
    jobs = [elastic_job("e", ["a", "a", "a"]), elastic_job("f", ["a"])]
    state = replayed(snapshot([gpu_node("a", 4)], jobs=jobs), seconds=900)
    assert numbers(state) == {"e": 2, "f": 2}
    third = pending_pods("third")
    given = allocate(dataclasses.replace(state, pods=(*state.pods, *third)), after(1000))
    assert sorted((count(given, "e"), count(given, "f"))) == [1, 2]


def test_a_gang_gets_all_that_it_waits_for_or_nothing() -> None:
    job = elastic_job("e", ["a", "a", "a"])
    gang = [dataclasses.replace(pod, metadata=_labelled(pod)) for pod in pending_pods("gang", 1, 3)]
    assert count(allocate(snapshot([gpu_node("a", 3)], gang, [job]), NOW)) == 3
    assert count(allocate(snapshot([gpu_node("a", 4)], gang, [job]), NOW)) == 1


def _labelled(pod: Any) -> Any:
    return msgspec.structs.replace(pod.metadata, labels=GANG)


def test_workers_that_the_job_asks_for_are_given_to_equals_but_not_to_lower_priorities() -> None:
    job = elastic_job("e", ["a", "a"], wanted=2, priority=5)
    for priority, left in ((5, 1), (0, 2)):
        assert count(allocate(snapshot([gpu_node("a", 2)], pending_pods("c", priority=priority), [job]), NOW)) == left


def test_the_scheduler_may_preempt_first() -> None:
    fresh = pending_pods("c", age=0)
    state = snapshot([gpu_node("a", 2)], fresh, [elastic_job("e", ["a", "a"])])
    first = allocate(state, NOW)
    assert (count(first), first.requeue_at) == (2, after(2))
    assert count(allocate(dataclasses.replace(state, history=first.history), after(2))) == 1


def test_a_pod_that_must_not_preempt_is_served_at_once() -> None:
    fresh = pending_pods("c", age=0, spec={"preemptionPolicy": "Never"})
    assert count(allocate(snapshot([gpu_node("a", 2)], fresh, [elastic_job("e", ["a", "a"])]), NOW)) == 1


def test_the_worker_on_the_node_that_the_pending_pod_needs_is_removed() -> None:
    job = elastic_job("e", ["a", "b", "c"])
    selecting = pending_pods("c", spec={"nodeSelector": {"kubernetes.io/hostname": "b"}})
    result = allocate(snapshot([gpu_node(name, 1) for name in "abc"], selecting, [job]), NOW)
    assert set(result.jobs["e"].members) == {0, 2}
    assert result.jobs["e"].leaving[1].claimant == "TFJob team/c"


@pytest.mark.parametrize(
    ("node", "message"),
    [
        *(
            pytest.param({"spec": {"taints": [{"key": key, "effect": "NoSchedule"}]}}, key, id=key)
            for key in ("aws-node-termination-handler/spot-itn", "node.kubernetes.io/unreachable")
        ),
        pytest.param(
            {"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": SHUTTING_DOWN}]},
            SHUTTING_DOWN,
            id="shutting down",
        ),
    ],
)
def test_workers_are_removed_from_a_terminating_node_and_requested_elsewhere(node: dict[str, Any], message: str) -> None:
    job = elastic_job("e", ["a", "b", "b"], wanted=2, max_replicas=6)
    result = allocate(snapshot([gpu_node("a", 2), gpu_node("b", 4, **node)], [], [job]), NOW)
    given = result.jobs["e"]
    assert set(given.leaving) == {1, 2}
    assert message in given.leaving[1].message
    assert set(given.members) == {0, 3}
    assert given.members[3] == ""
    assert 3 not in given.surplus


AT_RISK = [
    pytest.param({"taints": [{"key": key, "effect": "PreferNoSchedule"}]}, id=key)
    for key in ("aws-node-termination-handler/rebalance-recommendation", "DeletionCandidateOfClusterAutoscaler")
]


@pytest.mark.parametrize("spec", [*AT_RISK, pytest.param({"unschedulable": True}, id="cordoned")])
def test_only_workers_on_idle_capacity_are_removed_from_a_node_at_risk(spec: dict[str, Any]) -> None:
    job = elastic_job("e", ["a", "b", "b"], wanted=2, max_replicas=6)
    result = allocate(snapshot([gpu_node("a", 1), gpu_node("b", 8, spec=spec)], [], [job]), NOW)
    assert {index: removal.reason for index, removal in result.jobs["e"].leaving.items()} == {2: "Noticed"}
    again = snapshot([gpu_node("a", 1), gpu_node("b", 8, spec=spec)], [], [dataclasses.replace(job, members=job.members[:2])])
    assert count(allocate(again, NOW)) == 2, "no new worker is placed on the node"


def test_a_worker_whose_pod_is_evicted_is_replaced_before_it_is_gone() -> None:
    job = elastic_job("e", ["a", "b"], wanted=2, max_replicas=3)
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    pod = builders.pod("e-worker-1", on="b", requests={GPU: "1"}, status={"phase": "Running", "conditions": [condition]})
    job = dataclasses.replace(job, members=(job.members[0], Member(1, pod, False, NOW)))
    given = allocate(snapshot([gpu_node("a", 1), gpu_node("b", 1)], [], [job]), NOW).jobs["e"]
    assert set(given.members) == {0, 2}
    assert "EvictionByEvictionAPI" in given.leaving[1].message
    full = allocate(snapshot([gpu_node("a", 1), gpu_node("b", 1)], [], [dataclasses.replace(job, max_replicas=2)]), NOW).jobs["e"]
    assert set(full.members) == {0, 1}, "without a free index the planner replaces it under its own"


UNREACHABLE = {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    ("spec", "elsewhere", "moved"),
    [
        pytest.param(SPOT_TERMINATION, 2, True, id="capacity elsewhere"),
        pytest.param(SPOT_TERMINATION, 0, False, id="no capacity elsewhere"),
        pytest.param(UNREACHABLE, 2, False, id="a pod that could not be replaced"),
    ],
)
def test_the_host_of_the_rendezvous_and_the_launcher_are_replaced_if_there_is_capacity_elsewhere(
    spec: dict[str, Any], elsewhere: int, moved: bool
) -> None:
    launcher = builders.pod("e-launcher", on="a", requests={GPU: "1"})
    job = dataclasses.replace(elastic_job("e", ["a"], protected_worker="first"), launchers=(launcher,))
    state = snapshot([gpu_node("a", 2, spec=spec), gpu_node("b", elsewhere)], [launcher], [job])
    given = allocate(state, NOW).jobs["e"]
    assert 0 in given.members
    assert len(given.evicted) == (2 if moved else 0)


def test_a_worker_that_the_scheduler_refuses_is_removed_and_the_next_try_is_later() -> None:
    unschedulable = pending_pods("x")[0].status
    pod = dataclasses.replace(worker("e", 1, None, surplus=True), status=unschedulable)
    job = elastic_job("e", ["a"])
    job = dataclasses.replace(job, members=(*job.members, Member(1, pod, True)))
    state = ClusterSnapshot((gpu_node("a", 1),), (*[m.pod for m in job.members if m.pod],), (job,), policy=EAGER)
    result = allocate(state, NOW)
    assert count(result) == 1
    record = result.history.jobs["e"]
    assert record.backoff_until == after(30)
    again = allocate(dataclasses.replace(state, history=result.history), after(40))
    assert again.history.jobs["e"].backoff_until == after(100)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"policy": SharingPolicy(settle=0.0, headroom={GPU: 3})}, "Headroom", id="headroom"),
        pytest.param({"quotas": {"team": {GPU: 0}}}, "Quota", id="quota"),
    ],
)
def test_limits_of_the_administrator_stop_growth(changes: dict[str, Any], reason: str) -> None:
    result = allocate(snapshot([gpu_node("a", 4)], [], [elastic_job("e", ["a"])], **changes), NOW)
    assert (count(result), result.jobs["e"].reason) == (1, reason)


@pytest.mark.parametrize(
    ("name", "requested", "left", "text"),
    [
        ("cpu", "1", 500, "0.5 cpu"),
        ("memory", "2Gi", 2**30, "1Gi of memory"),
        ("ephemeral-storage", "2Gi", 2**30, "1Gi of ephemeral-storage"),
        (GPU, "1", 0, f"0 {GPU}"),
        (GPU, "1", -1, f"0 {GPU}"),
    ],
)
def test_a_quota_that_stops_growth_is_given_in_its_unit(name: str, requested: str, left: int, text: str) -> None:
    job = dataclasses.replace(elastic_job("e", ["a"]), worker_template=builders.pod("e-worker-9", requests={name: requested}))
    node = builders.node("a", None, **{GPU: "4", "cpu": "64", "memory": "256Gi", "ephemeral-storage": "99Gi"})
    given = allocate(snapshot([node], [], [job], quotas={"team": {name: left}}), NOW).jobs["e"]
    assert (given.reason, given.message) == ("Quota", f"1 of 4 workers: the quota of namespace team leaves {text}")


def test_only_allowed_sizes_are_taken() -> None:
    job = elastic_job("e", ["a"], sizes=frozenset({1, 2, 4}))
    assert count(allocate(snapshot([gpu_node("a", 3)], [], [job]), NOW)) == 2
    larger = elastic_job("e", ["a"] * 4, sizes=frozenset({1, 2, 4}))
    assert count(allocate(snapshot([gpu_node("a", 4)], pending_pods("c"), [larger]), NOW)) == 2


def test_a_template_without_requests_does_not_grow() -> None:
    job = elastic_job("e", ["a"])
    job = dataclasses.replace(job, worker_template=builders.pod("shape"))
    assert allocate(snapshot([gpu_node("a", 4)], [], [job]), NOW).jobs["e"].reason == "NothingAsked"


def test_fewer_replicas_in_the_spec_remove_workers_and_more_are_requested_without_free_capacity() -> None:
    job = elastic_job("e", ["a", "a", "a"], wanted=3, max_replicas=6)
    fewer = dataclasses.replace(job, wanted=1)
    before = allocate(snapshot([gpu_node("a", 3)], [], [job]), NOW)
    state = snapshot([gpu_node("a", 3)], [], [fewer], history=before.history)
    assert count(allocate(state, NOW)) == 1
    more = dataclasses.replace(job, wanted=5)
    result = allocate(snapshot([gpu_node("a", 3)], [], [more], history=before.history), NOW)
    assert (count(result), result.jobs["e"].surplus) == (5, frozenset())


@pytest.mark.parametrize("period", [10, 60, 600, 3600])
def test_scaling_up_costs_at_most_its_budget_when_pending_pods_come_and_go(period: int) -> None:
    """A square wave: giving back is never delayed, growth is."""
    policy, job = SharingPolicy(), elastic_job("e", ["a"])
    state, spent, served = snapshot([gpu_node("a", 4)], [], [job], policy=policy), 0.0, True
    wave = pending_pods("wave", 3)
    for second in range(0, 4 * 3600, 5):
        waits = second // period % 2 == 1
        pods = tuple(pod for pod in state.pods if pod not in wave)
        state = dataclasses.replace(state, pods=(*pods, *(wave if waits else [])))
        result = allocate(state, after(second))
        spent += 10.0 if result.jobs["e"].node_hints else 0.0
        state = applied(state, result)
        served &= not waits or len(state.jobs[0].members) == 1
    assert served
    assert spent <= policy.resize_budget * 4 * 3600 + 10.0


def test_a_job_for_which_an_autoscaler_chooses_replicas_gives_back_what_is_idle() -> None:
    job: ElasticJob = elastic_job("e", ["a", "a"], uses_idle_capacity=False, no_idle_message="an autoscaler chooses replicas")
    result = allocate(snapshot([gpu_node("a", 4)], [], [job]), NOW)
    assert (count(result), result.jobs["e"].leaving[1].reason) == (1, "Resized")


def test_the_reason_is_known_until_the_pod_of_a_removed_worker_is_deleted() -> None:
    job, nodes = elastic_job("e", ["a", "b"], wanted=2), [gpu_node("a", 2), gpu_node("b", 2, spec=SPOT_TERMINATION)]
    first = allocate(snapshot(nodes, [], [job]), NOW)
    assert first.jobs["e"].leaving[1].reason == "Noticed"
    rest = dataclasses.replace(job, members=job.members[:1], removed_members=job.members[1:])
    state = snapshot(nodes, [pod for pod in [job.members[1].pod] if pod], [rest], history=first.history)
    again = allocate(state, after(5))
    assert again.jobs["e"].leaving[1].reason == "Noticed"
    gone = snapshot(nodes, [], [dataclasses.replace(rest, removed_members=())], history=again.history)
    assert not allocate(gone, after(10)).jobs["e"].leaving


def quota_rejection(gpus: int) -> QuotaRejection:
    return QuotaRejection("TFJob team/t", "team", {GPU: gpus, "pods": gpus}, NOW)


@pytest.mark.parametrize(("gpus", "left"), [(1, 3), (3, 1), (4, 4)])
def test_a_quota_that_workers_on_idle_capacity_hold_is_given_back_whole_or_not_at_all(gpus: int, left: int) -> None:
    job = elastic_job("e", ["a"] * 4)
    state = snapshot([gpu_node("a", 8)], [], [job], quotas={"team": {GPU: 0}}, quota_rejections=(quota_rejection(gpus),))
    result = allocate(state, NOW)
    assert count(result) == left
    elsewhere = dataclasses.replace(state, quota_rejections=(dataclasses.replace(quota_rejection(gpus), namespace="other"),))
    assert count(allocate(elsewhere, NOW)) == 4


def test_a_quota_that_pods_which_end_give_back_is_not_given_back_twice() -> None:
    job = elastic_job("e", ["a"] * 4)
    state = snapshot([gpu_node("a", 8)], [], [job], quotas={"team": {GPU: 0}}, quota_rejections=(quota_rejection(2),))
    first = allocate(state, NOW)
    rest = dataclasses.replace(
        job,
        members=tuple(each for each in job.members if each.index in first.jobs["e"].members),
        removed_members=tuple(each for each in job.members if each.index in first.jobs["e"].leaving),
    )
    assert len(rest.removed_members) == 2
    again = allocate(dataclasses.replace(state, jobs=(rest,), history=first.history), after(1))
    assert count(again) == 2


def test_nothing_grows_into_a_quota_that_others_wait_for() -> None:
    state = snapshot(
        [gpu_node("a", 8)], [], [elastic_job("e", ["a"])], quotas={"team": {GPU: 2}}, quota_rejections=(quota_rejection(2),)
    )
    result = allocate(state, NOW)
    assert (count(result), result.jobs["e"].reason) == (1, "Quota")


@pytest.mark.parametrize(
    ("message", "quota_exceeded", "reason"),
    [("exceeded quota: small", True, "Quota"), ('admission webhook "x" denied the request', False, "Rejected")],
)
def test_a_worker_whose_pod_the_api_server_rejects_is_withdrawn_with_its_words(
    message: str, quota_exceeded: bool, reason: str
) -> None:
    rejections = {1: RejectedWrite(resources.PODS, "e-worker-1", "Forbidden", message, quota_exceeded=quota_exceeded)}
    state = snapshot([gpu_node("a", 2)], [], [elastic_job("e", ["a"])])
    first = allocate(state, NOW)
    assert count(first) == 2
    job = dataclasses.replace(state.jobs[0], members=(*state.jobs[0].members, Member(1, surplus=True)), rejections=rejections)
    given = allocate(dataclasses.replace(state, jobs=(job,), history=first.history), after(1)).jobs["e"]
    assert (set(given.members), given.reason) == ({0}, reason)
    assert message in given.message


def test_a_job_that_gave_back_names_the_claimant_until_it_may_be_scaled_up_again() -> None:
    state = snapshot([gpu_node("a", 2)], pending_pods("c"), [elastic_job("e", ["a", "a"])])
    first = allocate(state, NOW)
    assert first.jobs["e"].reason == "Yielding"
    assert "TFJob team/c waits for 1 nvidia.com/gpu" in first.jobs["e"].message
    later = allocate(applied(state, first), after(30)).jobs["e"]
    assert later.reason == "Yielding"
    assert "TFJob team/c" in later.message
    assert "may scale up again at" in later.message


def test_a_job_that_lost_workers_with_a_node_says_so() -> None:
    state = snapshot([gpu_node("a", 1), gpu_node("b", 2, spec=SPOT_TERMINATION)], [], [elastic_job("e", ["a", "b"])])
    given = allocate(state, NOW).jobs["e"]
    assert (given.reason, "node b is being terminated" in given.message) == ("Noticed", True)


def test_a_job_that_takes_no_idle_capacity_says_so() -> None:
    given = allocate(snapshot([gpu_node("a", 4)], [], [elastic_job("e", ["a"], uses_idle_capacity=False)]), NOW).jobs["e"]
    assert (given.reason, "does not use idle capacity" in given.message) == ("AtMaximum", True)


def test_idle_capacity_is_shared_by_dominant_resource_and_not_by_the_number_of_workers() -> None:
    jobs = [elastic_job("large", ["a"], gpus=2, max_replicas=9), elastic_job("small", ["a"], gpus=1, max_replicas=9)]
    result = allocate(snapshot([gpu_node("a", 11)], [], jobs), NOW)
    assert (count(result, "large"), count(result, "small")) == (3, 5)


@pytest.mark.parametrize(("ago", "expected"), [(30, False), (100, False), (200, True)])
def test_after_a_restart_of_the_operator_a_job_has_earned_what_it_ran_since_its_last_change(ago: int, expected: bool) -> None:
    """A change costs 10 s, which are earned in 200 s."""
    job = dataclasses.replace(elastic_job("e", ["a"]), last_resize_at=after(-ago))
    result = allocate(snapshot([gpu_node("a", 4)], [], [job]), NOW)
    assert (count(result) > 1) is expected
    assert result.jobs["e"].reason == ("AtMaximum" if expected else "CoolingDown")


@pytest.mark.parametrize("period", [5, 60, 600, 3600])
def test_a_job_of_horovod_is_productive_whatever_the_period_of_the_pending_pods(period: int) -> None:
    """A square wave: 90 % of the workers' time is kept work, and giving back is never delayed."""
    kind = ResizeCost(10.0, 5.0)
    policy, job = SharingPolicy(), elastic_job("e", ["a"], cost=kind)
    state = snapshot([gpu_node("a", 4)], [], [job], policy=policy)
    wave, paused, held = pending_pods("wave", 3), 0.0, 0.0
    for second in range(0, 6 * 3600, 5):
        waits = second // period % 2 == 1
        state = dataclasses.replace(state, pods=(*(pod for pod in state.pods if pod not in wave), *(wave if waits else [])))
        result = allocate(state, after(second))
        workers = len(state.jobs[0].members)
        lost = kind.up + kind.redo if result.jobs["e"].node_hints else 0.0
        lost += kind.down + kind.redo if result.jobs["e"].leaving else 0.0
        state = applied(state, result)
        paused, held = paused + lost * workers, held + 5.0 * len(state.jobs[0].members)
        assert not waits or len(state.jobs[0].members) == 1
    assert paused <= 0.1 * held


@pytest.mark.parametrize(("period", "devices"), [(60, 4), (200, 4), (600, 4), (3600, 4), (600, 12)])
def test_a_job_of_torchrun_is_productive_whatever_the_period_of_the_pending_pods(period: int, devices: int) -> None:
    """At every change all go back to the checkpoint. Between two changes no more is lost than was done."""
    cost = ResizeCost(20.0, 20.0, 150.0)
    job = elastic_job("e", ["a"], cost=cost, max_replicas=devices)
    state = snapshot([gpu_node("a", devices)], [], [job], policy=SharingPolicy())
    wave, lost, held, changed_at = pending_pods("wave", devices - 1), 0.0, 0.0, 0
    for second in range(0, 6 * 3600, 5):
        waits = second // period % 2 == 1
        pods = tuple(pod for pod in state.pods if pod not in wave)
        state = dataclasses.replace(state, pods=(*pods, *(wave if waits else [])))
        before = len(state.jobs[0].members)
        state = applied(state, allocate(state, after(second)), after(second))
        workers = len(state.jobs[0].members)
        if workers != before:
            pause = cost.up if workers > before else cost.down
            lost += min(cost.redo, second - changed_at) * before + pause * min(before, workers)
            changed_at = second
        held += 5.0 * workers
        assert not waits or workers == 1
    assert held > 6 * 3600
    assert lost <= 0.1 * held


@pytest.mark.parametrize(("stayed", "charge"), [(100, 4 * 100 - 3 * 100 * 0.05), (600, 4 * 150 - 3 * 600 * 0.05), (8000, 0.0)])
def test_a_job_pays_for_the_work_that_a_removal_throws_away_unless_its_workers_have_earned_it(stayed: int, charge: float) -> None:
    """Horovod throws nothing away and pays nothing."""
    for cost, expected in ((ResizeCost(20.0, 20.0, 150.0), charge), (ResizeCost(10.0, 5.0), 0.0)):
        job = elastic_job("e", ["a"] * 4, cost=cost)
        recent = tuple(dataclasses.replace(each, running_since=after(-stayed)) if each.surplus else each for each in job.members)
        state = snapshot([gpu_node("a", 4)], pending_pods("c", 3), [dataclasses.replace(job, members=recent)])
        before = allocate(dataclasses.replace(state, pods=state.pods[3:]), NOW)
        result = allocate(dataclasses.replace(state, history=before.history), NOW)
        assert count(result) == 1
        paid = before.history.jobs["e"].credit - result.history.jobs["e"].credit
        assert paid == pytest.approx(expected)
