"""Which jobs use a resource that is insufficient for pods of another job."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from traincrew.apimachinery import quantities
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import naming

MAX_NAMES = 5
"""Jobs that are named; the others are counted."""


def insufficient_resources(observed: ObservedJob) -> list[str]:
    """The resources that the scheduler reports as insufficient for the pods of the job."""
    names: dict[str, None] = {}
    for pod in observed.pods:
        scheduled = pod.status.condition("PodScheduled")
        if scheduled is not None and scheduled.status == "False" and not pod.terminating:
            names |= dict.fromkeys(re.findall(r"Insufficient ([\w./-]*\w)", scheduled.message))
    return list(names)


def users_of(resource: str, pods: Iterable[bytes]) -> str:
    """One line about the jobs that use the resource; empty if there are none."""
    amounts: dict[str, list[str | int | float]] = {}
    for pod in map(msgspec.json.decode, pods):
        if pod["spec"].get("nodeName") and pod["status"].get("phase") not in ("Succeeded", "Failed"):
            amounts.setdefault(_owner(pod), []).extend(_requests(pod, resource))
    users = [f"{owner} ({quantities.add(requested)})" for owner, requested in amounts.items() if requested]
    rest = f" and {len(users) - MAX_NAMES} more" if len(users) > MAX_NAMES else ""
    return f"{resource} is used by {', '.join(users[:MAX_NAMES])}{rest}" if users else ""


def leaving(resource: str, pods: Iterable[bytes]) -> str:
    """One line about pods that end and free the resource, such as workers of elastic jobs; empty if there are none."""
    names: dict[str, list[str]] = {}
    for pod in map(msgspec.json.decode, pods):
        if pod["metadata"].get("deletionTimestamp") and pod["spec"].get("nodeName") and _requests(pod, resource):
            names.setdefault(_owner(pod), []).append(pod["metadata"]["name"])
    parts = [f"{owner} gives back {', '.join(found[:MAX_NAMES])}" for owner, found in names.items()]
    return "; ".join(parts[:MAX_NAMES])


def _owner(pod: dict[str, Any]) -> str:
    meta = pod["metadata"]
    job = meta.get("labels", {}).get(naming.JOB_NAME)
    return f"job {meta['namespace']}/{job}" if job else f"pod {meta['namespace']}/{meta['name']}"


def _requests(pod: dict[str, Any], resource: str) -> list[str]:
    resources = [container.get("resources", {}) for container in pod["spec"]["containers"]]
    amounts = [
        requirements.get("requests", {}).get(resource) or requirements.get("limits", {}).get(resource)
        for requirements in resources
    ]
    return [amount for amount in amounts if amount and quantities.nanos(amount) > 0]
