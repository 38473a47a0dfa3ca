"""Gangs that Volcano has not admitted: they have no pods, and wait for what their first pods need."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, objects
from traincrew.model.meta import Time
from traincrew.operator import sharing_snapshot
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing.cluster_snapshot import UnadmittedGang

PENDING = "Pending"


def unadmitted(kind: JobKind, stored: jobs.JobObject[Any], group: objects.PodGroup) -> UnadmittedGang | None:
    """The first pods of a job without pods, in the order of its roles, as many as its PodGroup needs."""
    kind = kind.following(stored)
    job = kind.job(stored)
    owner = group.metadata.controller
    if owner is None or owner.uid != stored.metadata.uid or job.status.finished or job.suspended:
        return None
    pods = [
        _numbered(sharing_snapshot.pod_of(kind, job, role.name), f"{role.label}-{index}", group.metadata.creation_timestamp)
        for role in kind.roles
        if role.name in job.roles and not role.delegated
        for index in job.indexes(role.name)
    ]
    least = pods[: int(group.spec.get("minMember", 0))]
    return UnadmittedGang(f"{kind.kind} {job}", tuple(least)) if least else None


def _numbered(pod: PodInfo, name: str, since: Time | None) -> PodInfo:
    meta = pod.metadata
    return dataclasses.replace(
        pod,
        metadata=msgspec.structs.replace(meta, name=f"{meta.name}-{name}", uid=f"{meta.uid}/{name}", creation_timestamp=since),
    )
