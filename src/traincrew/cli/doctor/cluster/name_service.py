"""Checks that the DNS server of the cluster has ready endpoints: replicas find each other by name."""

from __future__ import annotations

import contextlib

import msgspec

from traincrew import errors
from traincrew.cli.doctor.check_result import CheckResult, fail, ok, warn
from traincrew.client import interfaces
from traincrew.model.meta import Meta, Struct
from traincrew.model.resources import Resource

SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
SERVICE_LABEL = "kubernetes.io/service-name"
SELECTORS = (
    f"{SERVICE_LABEL} in (kube-dns,coredns,dns-default)",
    "k8s-app in (kube-dns,coredns)",
    "app.kubernetes.io/name=coredns",
)
"""The usual names of the Service, then labels that charts and distributions give it: slices have the labels of their Service."""
TRY = "kubectl run dns-check --rm -i --restart=Never --image=busybox:1.36 -- nslookup kubernetes.default"


class _Conditions(Struct):
    ready: bool | None = None
    """Endpoints without the condition count as ready."""


class _Endpoint(Struct):
    conditions: _Conditions = _Conditions()


class _Port(Struct):
    name: str = ""


class Slice(Struct):
    metadata: Meta = Meta()
    endpoints: list[_Endpoint] | None = None
    ports: list[_Port] | None = None

    @property
    def service(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.labels.get(SERVICE_LABEL, '')}"

    @property
    def is_of_metrics(self) -> bool:
        """CoreDNS may have a second Service, for its metrics."""
        return bool(self.ports) and all("metrics" in each.name for each in self.ports or ())

    @property
    def ready(self) -> int:
        return sum(each.conditions.ready is not False for each in self.endpoints or ())


async def check(reader: interfaces.Reader) -> CheckResult:
    try:
        slices = await _find(reader)
    except errors.ApiError as error:
        return warn("dns", f"not known: {error.message}", "Ask an administrator to run this command.")
    if not slices:
        return warn("dns", "no Service of a DNS server was found", f"Run `{TRY}`. Without DNS, replicas do not find each other.")
    service = max(slices, key=lambda each: each.ready).service
    if not (ready := sum(each.ready for each in slices if each.service == service)):
        namespace, _, name = service.partition("/")
        remedy = f"Run `kubectl -n {namespace} describe service {name}`. Without DNS, replicas do not find each other."
        return fail("dns", f"the Service {service} has no ready endpoint", remedy)
    return ok("dns", f"the Service {service} has {ready} ready endpoint{'s' if ready > 1 else ''}")


async def _find(reader: interfaces.Reader) -> list[Slice]:
    for selector in SELECTORS:
        async with contextlib.aclosing(reader.pages(SLICES, None, labels=selector)) as pages:
            found = [msgspec.json.decode(raw, type=Slice) async for page in pages for raw in page.items]
        if slices := [each for each in found if not each.is_of_metrics]:
            return slices
    return []
