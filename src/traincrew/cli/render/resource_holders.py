"""Who has what a pod finds no node for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from traincrew.apimachinery import quantities
from traincrew.cli.render.view import View
from traincrew.model import naming

MOST = 5
"""That are named; of more it is told how many."""


def wanted(view: View) -> list[str]:
    """The resources that are too scarce for pods of the job, as the scheduler calls them."""
    found: dict[str, None] = {}
    for pod in view.pods:
        scheduled = pod.status.condition("PodScheduled")
        if scheduled is not None and scheduled.status == "False" and not pod.terminating:
            found |= dict.fromkeys(re.findall(r"Insufficient ([\w./-]*\w)", scheduled.message))
    return list(found)


def held(resource: str, pods: Iterable[bytes]) -> str:
    """One line about the pods on nodes that have some of it; empty if none has."""
    amounts: dict[str, list[str | int | float]] = {}
    for pod in map(msgspec.json.decode, pods):
        if pod["spec"].get("nodeName") and pod["status"].get("phase") not in ("Succeeded", "Failed"):
            amounts.setdefault(_owner(pod), []).extend(_requests(pod, resource))
    found = [f"{owner} ({quantities.add(each)})" for owner, each in amounts.items() if each]
    rest = f" and {len(found) - MOST} more" if len(found) > MOST else ""
    return f"{resource} is used by {', '.join(found[:MOST])}{rest}" if found else ""


def _owner(pod: dict[str, Any]) -> str:
    meta = pod["metadata"]
    job = meta.get("labels", {}).get(naming.JOB_NAME)
    return f"job {meta['namespace']}/{job}" if job else f"pod {meta['namespace']}/{meta['name']}"


def _requests(pod: dict[str, Any], resource: str) -> list[str]:
    asked = [each.get("resources", {}) for each in pod["spec"]["containers"]]
    found = [each.get("requests", {}).get(resource) or each.get("limits", {}).get(resource) for each in asked]
    return [amount for amount in found if amount and quantities.nanos(amount) > 0]
