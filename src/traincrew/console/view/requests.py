"""The resources that the replicas of a job request together."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import quantities, resource_lists
from traincrew.model import jobs


def of_job(job: jobs.Job) -> dict[str, str]:
    """Sums over all replicas. Amounts that are no quantities are omitted: validation reports them."""
    totals: dict[str, list[str]] = {}
    for name, role in job.roles.items():
        for container in role.containers:
            for resource, amount in of_container(container).items():
                totals.setdefault(resource, []).extend([amount] * job.count(name))
    return {resource: quantities.add(amounts) for resource, amounts in totals.items() if amounts}


def of_container(container: dict[str, Any]) -> dict[str, str]:
    """Requests, and limits of resources without a request, which are their requests, too."""
    given = container.get("resources")
    given = given if isinstance(given, dict) else {}
    found = {**(given.get("limits") or {}), **(given.get("requests") or {})}
    return {name: str(amount) for name, amount in found.items() if quantities.is_quantity(amount)}


def devices(requests: dict[str, str]) -> dict[str, int]:
    return {name: quantities.value(amount) for name, amount in requests.items() if resource_lists.is_extended(name)}
