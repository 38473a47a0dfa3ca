"""Invariants of every plan and every status, for all jobs and all events."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

from tests.planner.simulation import Manifest, OperatorMemory, Simulation, owner_uid

from traincrew.apimachinery import completion_indexes
from traincrew.model import naming, resources
from traincrew.planner.actions import Create, Delete, ListEvents, Patch, Plan

TERMINAL = ("Succeeded", "Failed")


def check_plan(simulation: Simulation, plan: Plan) -> None:
    """Invariants of a single plan, before it is executed."""
    shuffled = simulation.plan(shuffle=random.Random(0))
    assert shuffled == plan, "the order in which the simulation is seen must not matter"
    finished = any(simulation.is_true(type_) for type_ in TERMINAL)
    for action in (action for stage in plan.stages for action in stage):
        if isinstance(action, Create):
            assert not finished, f"a finished job makes nothing: {action}"
            _check_ownership(simulation, action)
            if action.resource == resources.PODS:
                _check_new_pod(simulation, plan, action)
        elif isinstance(action, Delete) and action.resource != simulation.kind.resource:
            entry = simulation.get(action.resource.plural, action.name)
            assert entry["metadata"]["uid"] == action.uid
            assert owner_uid(entry) == simulation.uid
        elif isinstance(action, Patch):
            assert not finished or action.body == {"spec": {"activeDeadlineSeconds": 1}}


def _check_ownership(simulation: Simulation, action: Create) -> None:
    refs = action.body["metadata"].get("ownerReferences", [])
    assert [ref["uid"] for ref in refs] == ([simulation.uid] if action.owned else [])


def _check_new_pod(simulation: Simulation, plan: Plan, action: Create) -> None:
    assert ("pods", action.name) not in simulation.objects, "no pod is made over another"
    restarts = (plan.status or simulation.stored.status).restarts
    assert restarts.retry_at is None or simulation.now >= restarts.retry_at, "no pod is made before its time"
    _check_port(simulation, plan, action)
    role = action.body["metadata"]["labels"].get(naming.REPLICA_TYPE, "worker")
    counts = {name.lower(): entry for name, entry in simulation.stored.status.replica_statuses.items()}.get(role)
    index = action.name.rpartition("-")[2]
    if counts is not None and index.isdecimal() and not simulation.is_true("Suspended"):
        assert int(index) not in completion_indexes.parse(counts.completed_indexes), "what has succeeded is not run again"


def _check_port(simulation: Simulation, plan: Plan, action: Create) -> None:
    """The port of a pod is in the status before the pod is created, and belongs to no other job."""
    ports = (plan.status or simulation.stored.status).host_ports
    if not ports:
        return
    every = [port for found in ports.values() for port in found]
    assert len(every) == len(set(every)), "no port is given twice"
    new = set(every) - {port for found in simulation.stored.status.host_ports.values() for port in found}
    assert not new & simulation.used_ports, "no port is another job's"
    declared = [port for container in action.body["spec"]["containers"] for port in container.get("ports", [])]
    own = [port["containerPort"] for port in declared if port.get("name") == (simulation.kind.pods.port or ("", 0))[0]]
    role = action.body["metadata"]["labels"][naming.REPLICA_TYPE]
    given = next((found for name, found in ports.items() if name.lower() == role), None)
    assert given is None or own[0] in given, "a pod listens where its status says"


def check_rest(simulation: Simulation, plan: Plan, wait: float) -> None:
    """Before `requeue_at` an unchanged simulation gives no actions."""
    limit = plan.requeue_at
    later = simulation.now + dt.timedelta(seconds=wait)
    if simulation.job is None or simulation.memory.rejected_writes or (limit is not None and later >= limit):
        return
    again = simulation.plan(later)
    assert again.empty, f"nothing has happened, and yet after {wait} s: {again}"
    assert again.requeue_at == limit


def check_restart(simulation: Simulation) -> None:
    """A restarted operator creates, deletes and writes nothing if the job is settled."""
    if simulation.job is None or simulation.memory.rejected_writes:
        return
    memory, simulation.memory = simulation.memory, OperatorMemory()
    plan = simulation.plan()
    simulation.memory = memory
    assert plan.status is None or any(isinstance(a, ListEvents) for stage in plan.stages for a in stage), plan.status
    for action in (action for stage in plan.stages for action in stage):
        learns = isinstance(action, Create) and (action.resource.plural, action.name) in memory.known
        assert learns or isinstance(action, ListEvents), action


def check_replicas(simulation: Simulation) -> None:
    """No surplus pods after deletions are requested. An invalid edit changes no pod."""
    if simulation.job is None or any(simulation.is_true(type_) for type_ in TERMINAL):
        return
    if simulation.status.get("why", {}).get("reason") == "InvalidSpec":
        return
    kind = simulation.kind.following(simulation.stored)
    job = kind.job(simulation.stored)
    own = [
        pod for pod in simulation.of("pods") if owner_uid(pod) == simulation.uid and "deletionTimestamp" not in pod["metadata"]
    ]
    assert len(own) <= job.total


def check_history(before: Manifest, after: Manifest) -> None:
    """Allowed transitions between two statuses."""
    _check_whole_seconds(after)
    old = {entry["type"]: entry for entry in before.get("conditions", [])}
    new = {entry["type"]: entry for entry in after.get("conditions", [])}
    assert len(new) == len(after.get("conditions", [])), "one entry a type"
    ended = [type_ for type_ in TERMINAL if old.get(type_, {}).get("status") == "True"]
    if ended:
        assert after["conditions"] == before["conditions"], "after the end conditions never change again"
        assert after.get("completionTime") == before.get("completionTime")
    assert sum(new.get(type_, {}).get("status") == "True" for type_ in TERMINAL) <= 1
    assert not ("Running" in new and "Restarting" in new)
    if any(new.get(type_, {}).get("status") == "True" for type_ in TERMINAL):
        assert new.get("Running", {}).get("status") != "True"
        assert "completionTime" in after
        assert "Restarting" not in new
    for type_, entry in new.items():
        _check_entry(old.get(type_), entry)
    assert after.get("contract", "") == before.get("contract", "") or "contract" not in before
    _check_restarts(before.get("restarts", {}), after.get("restarts", {}))
    _check_ports(before, after, ended=bool(after.get("completionTime")))
    if "failure" in before:
        assert after["failure"] == before["failure"], "the first failure is kept"


def _check_ports(before: Manifest, after: Manifest, *, ended: bool) -> None:
    old, new = before.get("hostPorts", {}), after.get("hostPorts", {})
    for role, ports in old.items():
        kept = new.get(role, [])[: len(ports)]
        assert kept == ports or (ended and not new), "a port stays with its replica until the job has ended"


def _check_entry(old: Manifest | None, new: Manifest) -> None:
    if old is not None and (old["status"], old["reason"]) == (new["status"], new["reason"]):
        assert old == new, "same status and reason: nothing changes, neither message nor times"
    elif old is not None and old["status"] == new["status"]:
        assert old["lastTransitionTime"] == new["lastTransitionTime"]


def _check_restarts(old: Manifest, new: Manifest) -> None:
    for count in ("charged", "disruptions"):
        assert new.get(count, 0) >= old.get(count, 0)
    assert len(set(new.get("entered", []))) == len(new.get("entered", []))


def _check_whole_seconds(value: Any) -> None:
    if isinstance(value, dict):
        for key, entry in value.items():
            if isinstance(entry, str) and (key.endswith(("Time", "At")) or key in ("since", "time", "youngest", "lastLoss")):
                assert dt.datetime.fromisoformat(entry).microsecond == 0, key
            _check_whole_seconds(entry)
    elif isinstance(value, list):
        for entry in value:
            _check_whole_seconds(entry)


def explained(simulation: Simulation) -> bool:
    """A settled job is finished, running, suspended, managed by another controller, or has a waiting reason."""
    if simulation.job is None or simulation.status.get("why"):
        return True
    manager = (simulation.job["spec"].get("runPolicy") or {}).get("managedBy")
    if manager not in (None, "kubeflow.org/training-operator", "kubeflow.org/mpi-operator"):
        return simulation.status == {}
    return any(simulation.is_true(type_) for type_ in (*TERMINAL, "Running", "Suspended"))
