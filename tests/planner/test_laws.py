"""The planner's laws over random jobs in random worlds."""

from __future__ import annotations

from typing import Any

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.planner import laws, manifests, strategies
from tests.planner.cluster import DISRUPTIONS, Cluster
from tests.planner.examples import tried
from tests.planner.manifests import Manifest
from tests.planner.world import World, owner_uid

from traincrew import settings


class Life(RuleBasedStateMachine):
    """A job's life: whatever can happen to it, with the operator acting now and then."""

    world: World
    cluster: Cluster

    @initialize(job=strategies.valid_jobs(), planning=strategies.plannings, stage=st.integers(0, 3))
    def begin(self, job: Manifest, planning: settings.Planning, stage: int) -> None:
        """Most lives begin with pods that run, else little would happen in them."""
        self.world = World(manifests.BY_NAME[job["kind"]], job, planning)
        self.cluster = Cluster(self.world)
        for _ in range(stage):
            self.operate(0)
            self.run_all(True)

    @property
    def alive(self) -> bool:
        return self.world.job is not None

    # The operator

    @rule(wait=st.sampled_from([0.0, 0.5, 1.0, 9.0, 29.9, 31.0, 3600.0]))
    def operate(self, wait: float) -> None:
        """Plans until nothing is left to do, each plan lawful."""
        for _ in range(8):
            if not self.alive:
                return
            before, plan = self.world.status, self.world.plan()
            laws.check_plan(self.world, plan)
            changed = self.world.carry_out(plan)
            if self.alive:
                laws.check_history(before, self.world.status)
            if not changed:
                assert plan.empty or self.world.memory.refusals, f"to no effect: {plan}"
                laws.check_rest(self.world, plan, wait)
                laws.check_crew(self.world)
                laws.check_restart(self.world)
                return
        raise AssertionError(f"does not come to rest: {self.world.plan()}")

    @rule()
    def act_once(self) -> None:
        """One plan, and no look at what came of it before something else happens."""
        if self.alive:
            before, plan = self.world.status, self.world.plan()
            laws.check_plan(self.world, plan)
            self.world.carry_out(plan)
            if self.alive:
                laws.check_history(before, self.world.status)

    @rule(steps=st.integers(0, 6))
    def die_at_work(self, steps: int) -> None:
        if self.alive:
            self.world.carry_out_partly(self.world.plan(), steps)

    @rule()
    def restart_operator(self) -> None:
        self.world.restart_operator()

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
        """Often the operator sees what has happened before anything else does."""
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
        """Finished pods go with their nodes."""
        self._befall(data, "vanish", "Succeeded", "Failed")

    def _befall(self, data: st.DataObject, event: str, *phases: str) -> None:
        names = [
            pod["metadata"]["name"]
            for pod in self.world.of("pods")
            if pod["status"]["phase"] in phases
            and (event in ("stop_containers", "vanish")) >= ("deletionTimestamp" in pod["metadata"])
        ]
        if event == "stop_containers":
            names = [name for name in names if "deletionTimestamp" in self.world.pod(name)["metadata"]]
        if names:
            getattr(self.cluster, event)(data.draw(st.sampled_from(sorted(names))))

    @rule()
    def finish_deletions(self) -> None:
        self.cluster.finish_deletions()

    @rule(quota=st.sampled_from([None, None, 1, 2]))
    def limit_pods(self, quota: int | None) -> None:
        self.world.quota = quota

    @rule(ports=st.frozensets(st.integers(20000, 20003)))
    def others_take_ports(self, ports: frozenset[int]) -> None:
        """Of those that are left."""
        own = {port for found in self.world.status.get("hostPorts", {}).values() for port in found} if self.alive else set()
        self.world.ports_taken = ports - own

    @rule(plural=st.sampled_from(["services", "configmaps", "roles", "jobs", "podgroups", "horizontalpodautoscalers"]))
    def remove_by_hand(self, plural: str) -> None:
        for name in self.world.names(plural)[:1]:
            del self.world.objects[plural, name]

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
        assert self.world.job is not None
        spec = self.world.job["spec"]
        spec["runPolicy"] = {**(spec.get("runPolicy") or {}), **policy}

    @precondition(lambda self: self.alive)
    @rule(replicas=st.integers(-1, 4))
    def scale_workers(self, replicas: int) -> None:
        assert self.world.job is not None
        workers = (self.world.job["spec"].get(self.world.kind.replicas_field) or {}).get("Worker")
        if workers:
            workers["replicas"] = replicas

    @invariant()
    def only_ours_are_gone(self) -> None:
        """Whatever happens, a job that is there keeps its identity."""
        if hasattr(self, "world") and self.alive:
            assert all(owner_uid(pod) for pod in self.world.of("pods"))

    def teardown(self) -> None:
        """Left alone for long enough, with nobody to run its pods, every job has ended or says why it does not go on."""
        if not hasattr(self, "world"):
            return
        for _ in range(40):
            if not self.alive:
                return
            plan = self.world.settle()
            if plan.requeue_at is None:
                break
            self.cluster.pass_time(max((plan.requeue_at - self.world.now).total_seconds(), 0.1))
        assert self.world.settle().requeue_at is None or not self.alive or laws.explained(self.world)
        assert laws.explained(self.world), self.world.status


class OddLife(Life):
    """The same for jobs that hardly anybody would write: whatever they say, no plan raises."""

    @initialize(job=strategies.odd_jobs(), planning=strategies.plannings, stage=st.integers(0, 2))
    def begin(self, job: Manifest, planning: settings.Planning, stage: int) -> None:
        super().begin(job, planning, stage)


TestLife = Life.TestCase
TestLife.settings = tried(200, steps=30)
TestOddLife = OddLife.TestCase
TestOddLife.settings = tried(200, steps=12)


@tried(200)
@hypothesis.given(job=strategies.valid_jobs(), planning=strategies.plannings)
def test_a_job_whose_pods_run_and_succeed_succeeds(job: Manifest, planning: settings.Planning) -> None:
    job["spec"]["runPolicy"].update(suspend=False, activeDeadlineSeconds=3600, ttlSecondsAfterFinished=3600)
    world = World(manifests.BY_NAME[job["kind"]], job, planning)
    cluster = Cluster(world)
    for _ in range(3):
        world.settle()
        cluster.launch()
        cluster.admit_gang()
        cluster.run_all()
    world.settle()
    for pod in world.of("pods"):
        cluster.succeed(pod["metadata"]["name"])
    cluster.launch()
    world.settle()
    cannot = world.status.get("why", {}).get("reason") in ("NothingToRun", "NoHostPorts")
    assert world.is_true("Succeeded") or cannot, world.status


@tried(200)
@hypothesis.given(job=st.one_of(strategies.valid_jobs(), strategies.odd_jobs()), planning=strategies.plannings)
def test_a_finished_job_ends_owning_no_running_pod(job: Manifest, planning: settings.Planning) -> None:
    job["spec"]["runPolicy"] = {**(job["spec"].get("runPolicy") or {}), "suspend": False}
    world = World(manifests.BY_NAME[job["kind"]], job, planning)
    cluster = Cluster(world)
    for _ in range(3):
        world.settle()
        cluster.launch()
        cluster.admit_gang()
        cluster.run_all()
    for pod in world.of("pods")[:1]:
        cluster.succeed(pod["metadata"]["name"])
    for _ in range(20):
        plan = world.settle()
        cluster.finish_deletions()
        cluster.launch()
        if plan.requeue_at is None or world.job is None:
            break
        cluster.pass_time((plan.requeue_at - world.now).total_seconds())
    if world.job is not None and any(world.is_true(type_) for type_ in laws.TERMINAL):
        cluster.pass_time(60)
        kept = _policy(job) == "None" and world.status["endedBy"] not in ("BackoffLimit", "Deadline")
        running = [pod for pod in world.of("pods") if pod["status"]["phase"] in ("Running", "Pending")]
        assert kept or not running or not _placed(running)


def _policy(job: Manifest) -> Any:
    return (job["spec"].get("runPolicy") or {}).get("cleanPodPolicy")


def _placed(pods: list[Manifest]) -> list[Manifest]:
    return [pod for pod in pods if "nodeName" in pod["spec"] and "deletionTimestamp" not in pod["metadata"]]
