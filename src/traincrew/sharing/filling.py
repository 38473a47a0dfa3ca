"""Growth into idle capacity: the job with the least above its minimum gets the next worker, until nothing more fits."""

from __future__ import annotations

import dataclasses
import datetime as dt
import heapq
import math

import msgspec

from traincrew.model.meta import Time
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import budget, claims
from traincrew.sharing.budget import Brake
from traincrew.sharing.draft import Draft
from traincrew.sharing.room import Room
from traincrew.sharing.scene import ElasticJob, Rules, Scene


def numbered(job: ElasticJob, number: int) -> PodInfo:
    """A worker that does not exist yet."""
    meta = msgspec.structs.replace(job.shape.metadata, uid=f"{job.uid}/new-{number}", name=f"{job.shape.metadata.name}-{number}")
    return dataclasses.replace(job.shape, metadata=meta)


def grow(drafts: list[Draft], room: Room, scene: Scene, now: Time) -> None:
    able: list[Draft] = []
    for draft in drafts:
        brake = _brake(draft, scene.rules, now)
        draft.brake = brake or draft.brake
        if brake is None and _wants_more(draft):
            able.append(draft)
    placed = _fill(able, room, scene)
    for draft in able:
        _grant(draft, placed[draft.job.uid], scene, now)


def _wants_more(draft: Draft) -> bool:
    return draft.job.grows and draft.job.wanted <= len(draft.members) < draft.job.most


def _brake(draft: Draft, rules: Rules, now: Time) -> Brake | None:
    job = draft.job
    if not _wants_more(draft):
        return (
            Brake(job.yields_reason or "Autoscaler", job.yields_only)
            if job.yields_only and len(draft.members) >= job.wanted
            else None
        )
    if not any(value for name, value in job.shape.requests.items() if name != "pods"):
        return Brake("NothingAsked", "the template of the workers requests no resources: set resources.requests")
    if draft.leaving:
        return budget.because_of(next(iter(draft.leaving.values())))
    if job.departing or any(each.running_since is None for each in draft.members.values()):
        return Brake("Starting", "a worker is starting or leaving")
    if not job.running:
        # The state of the job changes by the operator's own writes, of which nobody is notified.
        return Brake("Starting", "the job is starting", now + dt.timedelta(seconds=rules.look_again))
    return budget.before_growth(job, draft.record, rules, now)


def _fill(drafts: list[Draft], room: Room, scene: Scene) -> dict[str, list[PodInfo]]:
    """The workers that fit, by UID of their job, in the order in which they were placed."""
    placed: dict[str, list[PodInfo]] = {draft.job.uid: [] for draft in drafts}
    by_uid = {draft.job.uid: draft for draft in drafts}
    levels = [(draft.level, uid) for uid, draft in by_uid.items()]
    heapq.heapify(levels)
    limits = _Limits(room, scene)
    while levels:
        level, uid = heapq.heappop(levels)
        draft, own = by_uid[uid], placed[uid]
        if len(draft.members) + len(own) >= draft.job.most:
            continue
        pod = numbered(draft.job, len(own))
        brake = limits.brake(pod)
        one = room.place(pod, strict=True) if brake is None else None
        if one is None:
            if not own:
                draft.brake = brake or Brake("NoRoom", room.reasons(draft.job.shape))
            continue
        limits.take(pod)
        own.append(one)
        heapq.heappush(levels, (level + draft.step, uid))
    return placed


class _Limits:
    """Headroom of the cluster and quotas of the namespaces."""

    def __init__(self, room: Room, scene: Scene) -> None:
        self._room, self._headroom = room, dict(scene.rules.headroom)
        for name, part in scene.rules.headroom_parts.items():
            self._headroom[name] = max(self._headroom.get(name, 0), math.ceil(part * room.allocatable(name)))
        self._quotas = {namespace: dict(left) for namespace, left in scene.quotas.items()}

    def brake(self, pod: PodInfo) -> Brake | None:
        free = self._room.free(self._headroom) if self._headroom else {}
        for name, kept in self._headroom.items():
            if pod.requests.get(name, 0) and free[name] - pod.requests[name] < kept:
                return Brake("Headroom", f"{claims.amount(name, kept)} are kept free by --headroom of the operator")
        left = self._quotas.get(pod.metadata.namespace, {})
        for name, value in {**pod.requests, "pods": 1}.items():
            if value > left.get(name, value):
                return Brake("Quota", f"the quota of namespace {pod.metadata.namespace} leaves {left[name]} {name}")
        return None

    def take(self, pod: PodInfo) -> None:
        left = self._quotas.get(pod.metadata.namespace, {})
        for name, value in {**pod.requests, "pods": 1}.items():
            if name in left:
                left[name] -= value


def _grant(draft: Draft, placed: list[PodInfo], scene: Scene, now: Time) -> None:
    added = _allowed(draft, len(placed))
    if not added:
        draft.record = dataclasses.replace(draft.record, room_since=None)
        if placed:
            draft.brake = Brake("NoRoom", f"there is room for {len(placed)} more, but not for an allowed size")
        return
    draft.record = dataclasses.replace(draft.record, room_since=draft.record.room_since or now)
    draft.brake = budget.of_growth(draft.job, draft.record, added, scene.memory.stay, scene.rules, now)
    if draft.brake is not None:
        return
    for one in placed[:added]:
        draft.add(one, now, surplus=True)
    draft.record = budget.paid(draft.record, draft.job)


def _allowed(draft: Draft, added: int) -> int:
    """The number of additional workers with which the job has an allowed size."""
    if not draft.job.sizes:
        return added
    fitting = [size - len(draft.members) for size in draft.job.sizes if size <= len(draft.members) + added]
    return max(max(fitting, default=0), 0)
