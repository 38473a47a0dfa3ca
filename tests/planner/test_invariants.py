"""The invariants of the planner, with random jobs and random events."""

from __future__ import annotations

from typing import Any

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.planner import invariants, manifests, strategies
from tests.planner.cluster_events import DISRUPTIONS, ClusterEvents
from tests.planner.hypothesis_settings import max_examples
from tests.planner.manifests import Manifest
from tests.planner.simulation import Simulation, owner_uid

from traincrew import settings


class JobLife(RuleBasedStateMachine):
    """A job with random events, and an operator that acts from time to time."""

    simulation: Simulation
    cluster: ClusterEvents

    @initialize(job=strategies.valid_jobs(), planning=strategies.plannings, stage=st.integers(0, 3))
    def begin(self, job: Manifest, planning: settings.Planning, stage: int) -> None:
        """Most runs start with running pods, since more can happen to them."""
        self.simulation = Simulation(manifests.BY_NAME[job["kind"]], job, planning)
        self.cluster = ClusterEvents(self.simulation)
        for _ in range(stage):
            self.operate(0)
            self.run_all(True)

    @property
    def alive(self) -> bool:
        return self.simulation.job is not None

    # The operator

    @rule(wait=st.sampled_from([0.0, 0.5, 1.0, 9.0, 29.9, 31.0, 3600.0]))
    def operate(self, wait: float) -> None:
        """Plan until there are no actions, and check each plan."""
        for _ in range(8):
            if not self.alive:
                return
            before, plan = self.simulation.status, self.simulation.plan()
            invariants.check_plan(self.simulation, plan)
            changed = self.simulation.execute(plan)
            if self.alive:
                invariants.check_history(before, self.simulation.status)
            if not changed:
                assert plan.empty or self.simulation.memory.rejected_writes, f"to no effect: {plan}"
                invariants.check_rest(self.simulation, plan, wait)
                invariants.check_replicas(self.simulation)
                invariants.check_restart(self.simulation)
                return
        raise AssertionError(f"does not come to rest: {self.simulation.plan()}")

    @rule()
    def act_once(self) -> None:
        """One plan, followed by other events before the next plan."""
        if self.alive:
            before, plan = self.simulation.status, self.simulation.plan()
            invariants.check_plan(self.simulation, plan)
            self.simulation.execute(plan)
            if self.alive:
                invariants.check_history(before, self.simulation.status)

    @rule(steps=st.integers(0, 6))
    def die_at_work(self, steps: int) -> None:
        if self.alive:
            self.simulation.execute_partly(self.simulation.plan(), steps)

    @rule()
    def restart_operator(self) -> None:
        self.simulation.restart_operator()

    # The cluster

    @rule(seconds=st.sampled_from([0.4, 1, 5, 31, 61, 700]))
    def pass_time(self, seconds: float) -> None:
        self.cluster.pass_time(seconds)

    @rule(look=st.booleans())
    def run_all(self, look: bool) -> None:
        self.cluster.launch()
        self.cluster.admit_gang()
        self.cluster.run_all()
        self._look(look)

    def _look(self, look: bool) -> None:
        """Often the operator acts before the next event."""
        if look:
            self.operate(0)

    @rule(
        data=st.data(),
        event=st.sampled_from(["succeed", "fail", "run_out_of_memory", "restart_container", "stop_containers"]),
        look=st.booleans(),
    )
    def change_running(self, data: st.DataObject, event: str, look: bool) -> None:
        self._befall(data, event, "Running")
        self._look(look)

    @rule(data=st.data(), event=st.sampled_from([*DISRUPTIONS, "evict_for_its_own_fault"]), look=st.booleans())
    def take_away(self, data: st.DataObject, event: str, look: bool) -> None:
        self._befall(data, event, "Running", "Pending")
        self._look(look)

    @rule(data=st.data(), event=st.sampled_from(["schedule", "run", "find_no_node", "fail_init", "create_slowly"]))
    def change_pending(self, data: st.DataObject, event: str) -> None:
        self._befall(data, event, "Pending")

    @rule(data=st.data())
    def sweep_up(self, data: st.DataObject) -> None:
        """Finished pods are deleted with their nodes."""
        self._befall(data, "vanish", "Succeeded", "Failed")

    def _befall(self, data: st.DataObject, event: str, *phases: str) -> None:
        names = [
            pod["metadata"]["name"]
            for pod in self.simulation.of("pods")
            if pod["status"]["phase"] in phases
            and (event in ("stop_containers", "vanish")) >= ("deletionTimestamp" in pod["metadata"])
        ]
        if event == "stop_containers":
            names = [name for name in names if "deletionTimestamp" in self.simulation.pod(name)["metadata"]]
        if names:
            getattr(self.cluster, event)(data.draw(st.sampled_from(sorted(names))))

    @rule()
    def finish_deletions(self) -> None:
        self.cluster.finish_deletions()

    @rule(quota=st.sampled_from([None, None, 1, 2]))
    def limit_pods(self, quota: int | None) -> None:
        self.simulation.quota = quota

    @rule(ports=st.frozensets(st.integers(20000, 20003)))
    def others_take_ports(self, ports: frozenset[int]) -> None:
        """One of the remaining pods."""
        own = {port for found in self.simulation.status.get("hostPorts", {}).values() for port in found} if self.alive else set()
        self.simulation.used_ports = ports - own

    @rule(plural=st.sampled_from(["services", "configmaps", "roles", "jobs", "podgroups", "horizontalpodautoscalers"]))
    def remove_by_hand(self, plural: str) -> None:
        for name in self.simulation.names(plural)[:1]:
            del self.simulation.objects[plural, name]

    # The user

    @precondition(lambda self: self.alive)
    @rule(suspend=st.booleans())
    def suspend_or_resume(self, suspend: bool) -> None:
        self._edit({"suspend": suspend})

    @precondition(lambda self: self.alive)
    @rule(policy=strategies.run_policies())
    def change_policy(self, policy: Manifest) -> None:
        self._edit({key: value for key, value in policy.items() if key not in ("suspend", "schedulingPolicy")})

    def _edit(self, policy: Manifest) -> None:
        assert self.simulation.job is not None
        spec = self.simulation.job["spec"]
        spec["runPolicy"] = {**(spec.get("runPolicy") or {}), **policy}

    @precondition(lambda self: self.alive)
    @rule(replicas=st.integers(-1, 4))
    def scale_workers(self, replicas: int) -> None:
        assert self.simulation.job is not None
        workers = (self.simulation.job["spec"].get(self.simulation.kind.replicas_field) or {}).get("Worker")
        if workers:
            workers["replicas"] = replicas

    @invariant()
    def only_ours_are_gone(self) -> None:
        """A job keeps its identity."""
        if hasattr(self, "simulation") and self.alive:
            assert all(owner_uid(pod) for pod in self.simulation.of("pods"))

    def teardown(self) -> None:
        """Without further events every job ends or has a waiting reason."""
        if not hasattr(self, "simulation"):
            return
        for _ in range(40):
            if not self.alive:
                return
            plan = self.simulation.settle()
            if plan.requeue_at is None:
                break
            self.cluster.pass_time(max((plan.requeue_at - self.simulation.now).total_seconds(), 0.1))
        assert self.simulation.settle().requeue_at is None or not self.alive or invariants.explained(self.simulation)
        assert invariants.explained(self.simulation), self.simulation.status


class OddLife(JobLife):
    """The same for unusual jobs: no plan raises an exception."""

    @initialize(job=strategies.odd_jobs(), planning=strategies.plannings, stage=st.integers(0, 2))
    def begin(self, job: Manifest, planning: settings.Planning, stage: int) -> None:
        super().begin(job, planning, stage)


TestLife = JobLife.TestCase
TestLife.settings = max_examples(200, steps=30)
TestOddLife = OddLife.TestCase
TestOddLife.settings = max_examples(200, steps=12)


@max_examples(200)
@hypothesis.given(job=strategies.valid_jobs(), planning=strategies.plannings)
def test_a_job_whose_pods_run_and_succeed_succeeds(job: Manifest, planning: settings.Planning) -> None:
    job["spec"]["runPolicy"].update(suspend=False, activeDeadlineSeconds=3600, ttlSecondsAfterFinished=3600)
    simulation = Simulation(manifests.BY_NAME[job["kind"]], job, planning)
    cluster = ClusterEvents(simulation)
    for _ in range(3):
        simulation.settle()
        cluster.launch()
        cluster.admit_gang()
        cluster.run_all()
    simulation.settle()
    for pod in simulation.of("pods"):
        cluster.succeed(pod["metadata"]["name"])
    cluster.launch()
    simulation.settle()
    cannot = simulation.status.get("why", {}).get("reason") in ("NothingToRun", "NoHostPorts")
    assert simulation.is_true("Succeeded") or cannot, simulation.status


@max_examples(200)
@hypothesis.given(job=st.one_of(strategies.valid_jobs(), strategies.odd_jobs()), planning=strategies.plannings)
def test_a_finished_job_ends_owning_no_running_pod(job: Manifest, planning: settings.Planning) -> None:
    job["spec"]["runPolicy"] = {**(job["spec"].get("runPolicy") or {}), "suspend": False}
    simulation = Simulation(manifests.BY_NAME[job["kind"]], job, planning)
    cluster = ClusterEvents(simulation)
    for _ in range(3):
        simulation.settle()
        cluster.launch()
        cluster.admit_gang()
        cluster.run_all()
    for pod in simulation.of("pods")[:1]:
        cluster.succeed(pod["metadata"]["name"])
    for _ in range(20):
        plan = simulation.settle()
        cluster.finish_deletions()
        cluster.launch()
        if plan.requeue_at is None or simulation.job is None:
            break
        cluster.pass_time((plan.requeue_at - simulation.now).total_seconds())
    if simulation.job is not None and any(simulation.is_true(type_) for type_ in invariants.TERMINAL):
        cluster.pass_time(60)
        kept = _policy(job) == "None" and simulation.status["endedBy"] not in ("BackoffLimit", "Deadline")
        running = [pod for pod in simulation.of("pods") if pod["status"]["phase"] in ("Running", "Pending")]
        assert kept or not running or not _placed(running)


def _policy(job: Manifest) -> Any:
    return (job["spec"].get("runPolicy") or {}).get("cleanPodPolicy")


def _placed(pods: list[Manifest]) -> list[Manifest]:
    return [pod for pod in pods if "nodeName" in pod["spec"] and "deletionTimestamp" not in pod["metadata"]]
