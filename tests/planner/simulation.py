"""A simulation of an API server with one job. Time passes only on request.

It carries out plans as the operator does, forgets what the operator would forget when it is restarted, and shows the result. Who
else acts on the simulation, kubelet, scheduler, users, other controllers, is in `cluster`.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import random
from typing import Any

import msgspec

from traincrew import settings
from traincrew.apimachinery import merge_patch_diff
from traincrew.kinds.job_decoding import decode
from traincrew.kinds.kind import JobKind
from traincrew.model import elastic_allocation, jobs, objects, resources
from traincrew.model.observed import Observed, PodWarning, RejectedWrite
from traincrew.model.resources import Resource
from traincrew.planner.actions import Action, Create, Delete, ListEvents, Patch, Plan
from traincrew.planner.plan import plan as decide

Manifest = dict[str, Any]
START = dt.datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=dt.UTC)
GRACE = 30
ROUNDS = 8
"""Largest number of consecutive plans before the job counts as never settling."""

_SEEN: dict[str, tuple[str, type[Any]]] = {
    "pods": ("pods", objects.Pod),
    "services": ("services", objects.Plain),
    "configmaps": ("config_maps", objects.ConfigMap),
    "roles": ("roles", objects.RbacRole),
    "rolebindings": ("role_bindings", objects.Plain),
    "serviceaccounts": ("service_accounts", objects.Plain),
    "jobs": ("batch_jobs", objects.BatchJob),
    "horizontalpodautoscalers": ("autoscalers", objects.Autoscaler),
    "podgroups": ("pod_groups", objects.PodGroup),
}


@dataclasses.dataclass
class OperatorMemory:
    """State of the operator that is not in the API server. A restart loses it."""

    vanished: dict[str, objects.Pod] = dataclasses.field(default_factory=dict)
    released: set[str] = dataclasses.field(default_factory=set)
    known: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    rejected_writes: dict[tuple[Resource, str], RejectedWrite] = dataclasses.field(default_factory=dict)
    pod_events: dict[str, tuple[PodWarning, ...]] = dataclasses.field(default_factory=dict)


class Simulation:
    def __init__(self, kind: JobKind, job: Manifest, planning: settings.Planning | None = None) -> None:
        self.kind = kind
        self.job: Manifest | None = copy.deepcopy(job)
        self.planning = planning or settings.Planning()
        self.now = START
        self.objects: dict[tuple[str, str], Manifest] = {}
        self.memory = OperatorMemory()
        self.quota: int | None = None
        """Pod quota of the namespace."""
        self.used_ports: frozenset[int] = frozenset()
        """Host ports of other jobs."""
        self.allocation: elastic_allocation.Allocation | None = None
        self.decision_failure = ""
        self.events: list[tuple[str, str]] = []
        self._made = 0

    # Observed state

    @property
    def stored(self) -> jobs.JobObject[Any]:
        assert self.job is not None
        return decode(self.kind, msgspec.json.encode(self.job))

    @property
    def uid(self) -> str:
        assert self.job is not None
        uid: str = self.job["metadata"]["uid"]
        return uid

    def observed(self, shuffle: random.Random | None = None) -> Observed:
        makers = {self.uid, *(entry["metadata"]["uid"] for entry in self.of("jobs") if owner_uid(entry) == self.uid)}
        found: dict[str, list[Any]] = {field: [] for field, _ in _SEEN.values()}
        for (plural, _), entry in self.objects.items():
            if plural in _SEEN and owner_uid(entry) in makers:
                field, type_ = _SEEN[plural]
                found[field].append(msgspec.convert(entry, type_))
        rejected_writes = list(self.memory.rejected_writes.values())
        vanished = list(self.memory.vanished.values())
        for entries in (*found.values(), rejected_writes, vanished):
            if shuffle is not None:
                shuffle.shuffle(entries)
        objects: dict[str, Any] = {field: tuple(entries) for field, entries in found.items()}
        return Observed(
            **objects,
            vanished=tuple(vanished),
            known=frozenset(self.memory.known),
            rejected_writes=tuple(rejected_writes),
            name_conflicts={},
            pod_events=dict(self.memory.pod_events),
            used_ports=self.used_ports,
            planning=self.planning,
            allocation=self.allocation,
            decision_failure=self.decision_failure,
        )

    def plan(self, now: dt.datetime | None = None, shuffle: random.Random | None = None) -> Plan:
        return decide(self.kind, self.stored, self.observed(shuffle), now or self.now)

    def of(self, plural: str) -> list[Manifest]:
        return [entry for (kind, _), entry in self.objects.items() if kind == plural]

    def names(self, plural: str) -> list[str]:
        return sorted(name for kind, name in self.objects if kind == plural)

    def get(self, plural: str, name: str) -> Manifest:
        return self.objects[plural, name]

    def pod(self, name: str) -> Manifest:
        return self.objects["pods", name]

    @property
    def status(self) -> Manifest:
        assert self.job is not None
        status: Manifest = self.job.get("status", {})
        return status

    def condition(self, type_: str) -> Manifest | None:
        return next((entry for entry in self.status.get("conditions", []) if entry["type"] == type_), None)

    def is_true(self, type_: str) -> bool:
        entry = self.condition(type_)
        return entry is not None and entry["status"] == "True"

    # Actions of the operator

    def settle(self) -> Plan:
        """Plan and execute until there are no actions. Returns the last plan."""
        for _ in range(ROUNDS):
            if self.job is None:
                return Plan()
            plan = self.plan()
            if not self.execute(plan):
                assert plan.empty or self.memory.rejected_writes, f"done again and again, to no effect: {plan}"
                return plan
        raise AssertionError(f"does not come to rest: {self.plan()}")

    def execute(self, plan: Plan) -> bool:
        """Execute a plan. Returns whether anything changed."""
        wanted = {(a.resource, a.name) for stage in plan.stages for a in stage if isinstance(a, Create)}
        stale = [name for name in self.memory.rejected_writes if name not in wanted]
        for name in stale:
            del self.memory.rejected_writes[name]
        changed = bool(stale) or plan.status is not None
        if plan.status is not None:
            self._write_status(plan)
        self.memory.vanished.clear()
        for stage in plan.stages:
            done = [self._do(action) for action in stage]
            changed = changed or any(did for did, _ in done)
            if not all(worked for _, worked in done):
                break
        self.events += [(event.reason, event.message) for event in plan.events]
        return changed

    def execute_partly(self, plan: Plan, steps: int) -> None:
        """The operator is killed after this number of writes."""
        if plan.status is not None and steps > 0:
            self._write_status(plan)
            steps -= 1
        for action in [action for stage in plan.stages for action in stage][:steps]:
            self._do(action)
        self.restart_operator()

    def _write_status(self, plan: Plan) -> None:
        assert self.job is not None
        before, after = msgspec.to_builtins(self.stored.status), msgspec.to_builtins(plan.status)
        written = merged(before, merge_patch_diff.create_merge_patch(before, after))
        assert written == after
        self.job["status"] = written

    def _do(self, action: Action) -> tuple[bool, bool]:
        """Returns whether the state changed, and whether the request succeeded."""
        match action:
            case Create():
                return self._create(action)
            case Delete():
                return self._delete(action), True
            case Patch():
                return self._patch(action), True
            case ListEvents():
                news = action.uid not in self.memory.pod_events
                self.memory.pod_events.setdefault(action.uid, ())
                return news, True

    def _create(self, action: Create) -> tuple[bool, bool]:
        key = (action.resource.plural, action.name)
        there = self.objects.get(key)
        if there is not None and not (action.shared or owner_uid(there) == self.uid):
            return self._reject(action, "AlreadyExists", f'{action.resource.plural} "{action.name}" already exists', foreign=True)
        if there is not None and "deletionTimestamp" in there["metadata"]:
            return False, False
        if action.resource == resources.PODS and self.quota is not None and len(self.of("pods")) >= self.quota:
            return self._reject(action, "Forbidden", "exceeded quota: pods, requested: pods=1", quota_exceeded=True)
        if there is None:
            self.add(action.resource, action.name, action.body)
        self.memory.rejected_writes.pop((action.resource, action.name), None)
        if action.resource.plural not in _SEEN or not action.owned:
            self.memory.known.add(key)
        return True, True

    def _reject(
        self, action: Create, reason: str, message: str, *, foreign: bool = False, quota_exceeded: bool = False
    ) -> tuple[bool, bool]:
        rejected = RejectedWrite(action.resource, action.name, reason, message, foreign, quota_exceeded)
        news = self.memory.rejected_writes.get((action.resource, action.name)) != rejected
        self.memory.rejected_writes[action.resource, action.name] = rejected
        return news, False

    def add(self, resource: Resource, name: str, body: Manifest) -> Manifest:
        """Store an object with a UID and a creation timestamp."""
        self._made += 1
        entry = copy.deepcopy(body)
        meta = entry.setdefault("metadata", {})
        meta.update(name=name, namespace="n", uid=f"uid-{self._made}", creationTimestamp=stamp(self.now))
        if resource == resources.PODS:
            entry["status"] = {"phase": "Pending"}
        self.objects[resource.plural, name] = entry
        return entry

    def _delete(self, action: Delete) -> bool:
        if action.resource == self.kind.resource:
            assert action.uid == self.uid
            self.job = None
            self.objects.clear()
            return True
        entry = self.objects.get((action.resource.plural, action.name))
        if entry is None or entry["metadata"]["uid"] != action.uid:
            return True
        assert owner_uid(entry) == self.uid, f"{action} is not ours to delete"
        if action.resource == resources.PODS:
            self.memory.released.add(action.uid)
            self.end(entry)
        else:
            del self.objects[action.resource.plural, action.name]
        return True

    def end(self, pod: Manifest, grace: int = GRACE) -> None:
        """Delete a pod: at once if it is not on a node, else when the kubelet confirms it."""
        finished = pod["status"]["phase"] in ("Succeeded", "Failed")
        if finished or "nodeName" not in pod["spec"] or grace == 0:
            self.remove(pod)
        elif "deletionTimestamp" not in pod["metadata"]:
            deadline = stamp(self.now + dt.timedelta(seconds=grace))
            pod["metadata"].update(deletionTimestamp=deadline, deletionGracePeriodSeconds=grace)

    def remove(self, pod: Manifest) -> None:
        """Remove a pod. The operator remembers pods that it did not delete itself."""
        meta = pod["metadata"]
        del self.objects["pods", meta["name"]]
        self.memory.pod_events.pop(meta["uid"], None)
        if meta["uid"] in self.memory.released:
            self.memory.released.discard(meta["uid"])
        elif self.job is not None and owner_uid(pod) == self.uid:
            self.memory.vanished[meta["uid"]] = msgspec.convert(pod, objects.Pod)

    def _patch(self, action: Patch) -> bool:
        entry = self.objects.get((action.resource.plural, action.name))
        if entry is None:
            return True
        assert action.subresource in ("", "status")
        after = merged(entry, action.body)
        changed = after != entry
        self.objects[action.resource.plural, action.name] = after
        return changed

    def restart_operator(self) -> None:
        self.memory = OperatorMemory()


def owner_uid(entry: Manifest) -> str:
    refs = entry["metadata"].get("ownerReferences", [])
    return next((ref["uid"] for ref in refs if ref.get("controller")), "")


def stamp(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def merged(target: Manifest, patch: Manifest) -> Manifest:
    """RFC 7386."""
    found = dict(target)
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, dict):
            inner = found.get(key)
            found[key] = merged(inner if isinstance(inner, dict) else {}, value)
        else:
            found[key] = value
    return found
