"""The pods of a job before they exist, as the scheduler sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from traincrew import errors, settings
from traincrew.console.view.manifest_jobs import ManifestJob
from traincrew.kinds import pod_templates
from traincrew.kinds.replica import Replica
from traincrew.scheduling import pod_info
from traincrew.scheduling.decisions import SchedulingContext
from traincrew.scheduling.pod_info import PodInfo

MAX_REPLICAS = 2000
"""A larger job is not simulated: a person waits for the answer."""


def of_job(wanted: ManifestJob, namespace: str, state: SchedulingContext) -> list[PodInfo]:
    """namespace: that of a job without one. Raise SettingsError if the job is too large."""
    kind, job, _ = wanted
    if job.total > MAX_REPLICAS:
        raise errors.SettingsError(f"the job has {job.total} replicas. Whether it fits is computed for up to {MAX_REPLICAS}.")
    found = []
    for role in kind.roles:
        count = job.count(role.name)
        if not count:
            continue
        replicas = [Replica(job, role, index, settings.Planning()) for index in range(count)]
        template = pod_templates.build(kind, replicas[0])  # indexes differ in what the scheduler does not read
        _apply_defaults(template["spec"], state.priorities)
        for replica in replicas:
            meta = {
                **template["metadata"],
                "name": replica.name,
                "namespace": job.namespace or namespace,
                "uid": f"{wanted.line}/{kind.singular}/{replica.name}",
                "creationTimestamp": job.metadata.creation_timestamp or state.now,
            }
            found.append(pod_info.decode(msgspec.json.encode({"metadata": meta, "spec": template["spec"]})))
    return found


def _apply_defaults(spec: dict[str, Any], priorities: Mapping[str, int]) -> None:
    """What the API server adds to a pod and the scheduler reads."""
    spec.setdefault("priority", priorities.get(spec.get("priorityClassName") or "", 0))
    for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
        given = container.get("resources") or {}
        container["resources"] = {**given, "requests": {**(given.get("limits") or {}), **(given.get("requests") or {})}}
