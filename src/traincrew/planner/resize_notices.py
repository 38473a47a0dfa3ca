"""Notices for the programs of a job: a file says that workers leave soon, so that the programs can save a checkpoint.

The file shows an annotation of the pod. Its time is that of the first notice, so that another operator can continue.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec

from traincrew.kinds import elasticity
from traincrew.kinds.replica import Manifest
from traincrew.model import naming, objects, resources
from traincrew.model.meta import Time
from traincrew.planner import deadlines, elastic_members
from traincrew.planner.actions import Action, Patch
from traincrew.planner.replicas import Replicas

VOLUME, DIRECTORY, FILE = "traincrew-notice", "/etc/traincrew", "notice"


class Notice(msgspec.Struct, rename="camel", omit_defaults=True):
    reason: str
    message: str
    leaving: list[str]
    """The names of the pods."""
    since: Annotated[dt.datetime, msgspec.Meta(tz=True)]
    deadline: Annotated[dt.datetime, msgspec.Meta(tz=True)]


def mount(replicas: Replicas, pod: Manifest) -> None:
    """Changes a pod of a job that asks for notices: its containers have the file."""
    if not _is_enabled(replicas):
        return
    spec = pod["spec"]
    item = {"path": FILE, "fieldRef": {"fieldPath": f"metadata.annotations['{naming.NOTICE}']"}}
    spec["volumes"] = [*spec.get("volumes", []), {"name": VOLUME, "downwardAPI": {"items": [item]}}]
    for container in spec["containers"]:
        place = {"name": VOLUME, "mountPath": DIRECTORY, "readOnly": True}
        container["volumeMounts"] = [*container.get("volumeMounts", []), place]


def write(replicas: Replicas, notice: Notice | None) -> list[Action]:
    """All pods of the job get the notice when workers are about to leave, and lose it when they have left."""
    if not _is_enabled(replicas):
        return []
    text = msgspec.json.encode(notice).decode() if notice is not None else None
    pods = [pod for pod in replicas.own_pods if pod.active]
    changed = [pod for pod in pods if (naming.NOTICE in pod.metadata.annotations) != (text is not None)]
    return [Patch(resources.PODS, pod.name, {"metadata": {"annotations": {naming.NOTICE: text}}}) for pod in changed]


def deadline(notice: Notice | None, now: Time) -> Time | None:
    """The time until which workers stay that are about to leave. None: none of them is waited for."""
    return notice.deadline if notice is not None and notice.deadline > now else None


def _is_enabled(replicas: Replicas) -> bool:
    return elasticity.ROLE in replicas.job.members and elasticity.wants_notices(replicas.job)


def current(replicas: Replicas, now: Time) -> Notice | None:
    """None: no worker is about to leave, or the job does not ask for notices."""
    reasons = dict(elastic_members.leaving_pods(replicas)) if _is_enabled(replicas) else {}
    if not reasons:
        return None
    reason, message = next(iter(reasons.values()))
    since = min((time for pod in replicas.own_pods if (time := _since(pod)) is not None), default=deadlines.whole(now))
    until = since + dt.timedelta(seconds=elasticity.notice_seconds(replicas.job))
    return Notice(reason, message, sorted(reasons), since, until)


def _since(pod: objects.Pod) -> Time | None:
    try:
        return msgspec.json.decode(pod.metadata.annotations.get(naming.NOTICE, ""), type=Notice).since
    except msgspec.DecodeError:
        return None
