"""Builders of pods, nodes and PodGroups, and a scheduling cycle over them."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

import msgspec

from traincrew.scheduling import objects, pod_info
from traincrew.scheduling.decisions import Decisions, Profile, SchedulingContext
from traincrew.scheduling.gangs import PLUGINS, VOLCANO, GangKey
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.scheduling_cycle import schedule

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
STRICT = Profile()
_numbers = itertools.count()


def pod(name: str, spec: dict[str, Any] | None = None, **more: Any) -> PodInfo:
    """more: requests (of its container), on (a node), age in seconds, labels, annotations, status, deleting."""
    number = next(_numbers)
    meta: dict[str, Any] = {"name": name, "namespace": more.get("namespace", "team"), "uid": f"uid-{name}-{number}"}
    meta["creationTimestamp"] = timestamp(START - dt.timedelta(seconds=more.get("age", 0)))
    meta |= {key: more[key] for key in ("labels", "annotations") if key in more}
    if more.get("deleting"):
        meta["deletionTimestamp"] = timestamp(START)
    container = {"name": "main", "resources": {"requests": more.get("requests", {})}}
    complete = {"containers": [container], "schedulerName": "default-scheduler", **(spec or {})}
    if "on" in more:
        complete["nodeName"] = more["on"]
    body = {"metadata": meta, "spec": complete, "status": more.get("status", {"phase": "Running" if "on" in more else "Pending"})}
    return pod_info.decode(msgspec.json.encode(body))


def node(name: str = "machine", spec: dict[str, Any] | None = None, **has: Any) -> objects.Node:
    """has: allocatable amounts, and labels, conditions."""
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, **has.pop("labels", {})}}
    conditions = has.pop("conditions", [])
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "100", **{key.replace("__", "/"): value for key, value in has.items()}}
    body = {"metadata": meta, "spec": spec or {}, "status": {"allocatable": allocatable, "conditions": conditions}}
    return msgspec.json.decode(msgspec.json.encode(body), type=objects.Node)


def group(name: str, least: int, system: str = VOLCANO, **more: Any) -> tuple[GangKey, objects.PodGroup]:
    """more: phase, age, min_resources, priority_class."""
    meta = {"name": name, "namespace": "team", "uid": f"uid-{name}"}
    meta["creationTimestamp"] = timestamp(START - dt.timedelta(seconds=more.get("age", 0)))
    spec = {"minMember": least, "minResources": more.get("min_resources"), "priorityClassName": more.get("priority_class", "")}
    phase = {"phase": more.get("phase", "Inqueue" if system == VOLCANO else "Scheduling")}
    body = {"metadata": meta, "spec": spec, "status": phase}
    return GangKey(system, "team", name), msgspec.json.decode(msgspec.json.encode(body), type=objects.PodGroup)


def gang(name: str, size: int, requests: dict[str, str], **more: Any) -> list[PodInfo]:
    """Pods of one gang. more: as for `pod`, and system."""
    system = more.pop("system", VOLCANO)
    membership: dict[str, Any] = (
        {"annotations": {"scheduling.k8s.io/group-name": name}}
        if system == VOLCANO
        else {"labels": {"scheduling.x-k8s.io/pod-group": name}}
    )
    scheduler = "volcano" if system == VOLCANO else "scheduler-plugins-scheduler"
    spec = {"schedulerName": scheduler, **more.pop("spec", {})}
    return [pod(f"{name}-{index}", spec, requests=requests, **membership, **more) for index in range(size)]


def timestamp(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def run_cycle(*pods: PodInfo, nodes: list[objects.Node] | None = None, policy: Profile = STRICT, **state: Any) -> Decisions:
    groups = dict(state.pop("groups", ()))
    cluster_state = SchedulingContext(groups=groups, now=state.pop("now", START), **state)
    return schedule(pods, [node()] if nodes is None else nodes, cluster_state, policy)


def bound(decisions: Decisions) -> dict[str, str]:
    return {each.pod.metadata.name: each.node for each in decisions.bindings}


def messages(decisions: Decisions) -> dict[str, str]:
    return {each.pod.metadata.name: each.message for each in decisions.unschedulable}


def victims(decisions: Decisions) -> set[str]:
    return {each.victim.metadata.name for each in decisions.preemptions}


__all__ = ["PLUGINS", "VOLCANO", "bound", "gang", "group", "messages", "node", "pod", "run_cycle", "victims"]
