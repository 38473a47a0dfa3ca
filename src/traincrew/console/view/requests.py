"""The resources that the replicas of a job request together."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from traincrew.apimachinery import quantities, resource_lists
from traincrew.model import jobs

_KEPT_TEMPLATES = 4096
"""Many jobs have the same templates, and each job is computed again whenever one of its pods changes."""


def of_job(job: jobs.Job) -> dict[str, str]:
    """Sums over all replicas. Amounts that are no quantities are omitted: validation reports them."""
    totals: dict[str, tuple[int, str]] = {}
    for name, role in job.roles.items():
        for resource, amount in _of_template(bytes(role.template)):
            nanos, form = totals.get(resource, (0, quantities.format_of(amount)))
            totals[resource] = (nanos + quantities.nanos(amount) * job.count(name), form)
    return {resource: quantities.from_nanos(nanos, form).canonical() for resource, (nanos, form) in totals.items() if nanos}


@functools.lru_cache(_KEPT_TEMPLATES)
def _of_template(template: bytes) -> tuple[tuple[str, str], ...]:
    containers = jobs.RoleSpec("", 0, "", msgspec.Raw(template)).containers
    return tuple(pair for container in containers for pair in of_container(container).items())


def of_container(container: dict[str, Any]) -> dict[str, str]:
    """Requests, and limits of resources without a request, which are their requests, too."""
    given = container.get("resources")
    given = given if isinstance(given, dict) else {}
    found = {**(given.get("limits") or {}), **(given.get("requests") or {})}
    return {name: str(amount) for name, amount in found.items() if quantities.is_quantity(amount)}


def devices(requests: dict[str, str]) -> dict[str, int]:
    return {name: quantities.value(amount) for name, amount in requests.items() if resource_lists.is_extended(name)}
