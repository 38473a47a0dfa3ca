"""Checks that the DNS server of the cluster has ready endpoints: replicas find each other by name."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from traincrew import errors
from traincrew.cli.doctor.finding import Finding, fail, ok, warn
from traincrew.client import interfaces
from traincrew.model.resources import Resource

SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
NAMESPACE, SERVICE = "kube-system", "kube-dns"


async def check(reader: interfaces.Reader) -> Finding:
    try:
        pages = reader.pages(SLICES, NAMESPACE, labels=f"kubernetes.io/service-name={SERVICE}")
        async with contextlib.aclosing(pages) as found:
            slices = [msgspec.json.decode(raw) async for page in found for raw in page.items]
    except errors.ApiError as error:
        return warn("dns", f"not known: {error.message}", "Ask an administrator to run this command.")
    if not slices:
        text = f"no Service {NAMESPACE}/{SERVICE}"
        return warn("dns", text, "If the cluster has another DNS server, run `kubectl run` with `nslookup kubernetes`.")
    if not (ready := sum(_ready(each) for each in slices)):
        remedy = f"Run `kubectl -n {NAMESPACE} get pods -l k8s-app={SERVICE}`. Without DNS, replicas do not find each other."
        return fail("dns", f"the Service {NAMESPACE}/{SERVICE} has no ready endpoint", remedy)
    return ok("dns", f"the Service {NAMESPACE}/{SERVICE} has {ready} ready endpoint{'s' if ready > 1 else ''}")


def _ready(found: dict[str, Any]) -> int:
    """Endpoints without the condition count as ready."""
    endpoints = found.get("endpoints") or ()
    return sum((each.get("conditions") or {}).get("ready") is not False for each in endpoints)
