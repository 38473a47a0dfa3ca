"""What every request goes through once it is known who asks, be it over HTTP or from within the process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from traincrew.embedded import refusals
from traincrew.embedded.api import (
    creating,
    deleting,
    evicting,
    listing,
    metrics,
    patching,
    podwrites,
    reading,
    rendering,
    replacing,
    scaling,
)  # fmt: skip
from traincrew.embedded.api.auditing import Audit
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.cluster import Cluster
from traincrew.embedded.api.reviewing import Reviewing
from traincrew.embedded.api.watching import Watch
from traincrew.embedded.store.faults import StoreUnavailable
from traincrew.embedded.store.records import Record


class Handler:
    def __init__(self, cluster: Cluster, reviewing: Reviewing, audit: Audit | None = None) -> None:
        self.cluster = cluster
        self.audit = audit or Audit("")
        """Told by whoever brings requests here."""
        self._reviewing = reviewing

    def authorize(self, call: Call) -> None:
        self.cluster.authorize(call.user, call.asked)

    async def handle(self, call: Call) -> Answer:
        """Every verb but list and watch. Raises Refusal."""
        self.authorize(call)
        _check_served(call)
        form = rendering.form(call)
        with _told():
            answer = rendering.rendered(self.cluster, call, form, await self._dispatch(call))
        answer.warnings = (*call.warnings, *answer.warnings)
        return answer

    async def pieces(self, call: Call) -> rendering.Pieces:
        self.authorize(call)
        _check_served(call)
        with _told():
            return await reading.list_pieces(self.cluster, call, await self._measured(call))

    async def listed(self, call: Call) -> listing.Listed:
        self.authorize(call)
        _check_served(call)
        with _told():
            return listing.listed(self.cluster, call, await self._measured(call))

    async def _measured(self, call: Call) -> list[Record] | None:
        return await metrics.records(self.cluster, call) if metrics.measured(call.served) else None

    def watch(self, call: Call) -> Watch:
        self.authorize(call)
        _check_served(call)
        with _told():
            return reading.watch(self.cluster, call)

    async def _dispatch(self, call: Call) -> Answer:
        if call.subresource and call.subresource not in ("status", "finalize"):
            return await self._subresource(call)
        match call.verb:
            case "get" if metrics.measured(call.served):
                return await metrics.get(self.cluster, call)
            case "get":
                return reading.get(self.cluster, call)
            case "create":
                if self._reviewing.takes(call):
                    return self._reviewing.review(call)
                if call.served.store_name == "bindings":
                    return await podwrites.bind(self.cluster, self._as_pod(call))
                return await creating.create(self.cluster, call)
            case "update":
                return await replacing.update(self.cluster, call)
            case "patch":
                return await patching.patch(self.cluster, call)
            case "delete":
                return await deleting.delete(self.cluster, call)
            case "deletecollection":
                return await deleting.delete_collection(self.cluster, call)
        raise refusals.method_not_allowed()

    def _as_pod(self, call: Call) -> Call:
        pods = self.cluster.registry.find("", "v1", "pods")
        assert pods is not None
        return call._replace(served=pods, subresource="binding")

    async def _subresource(self, call: Call) -> Answer:
        match call.subresource, call.verb:
            case "scale", "get":
                return scaling.get(self.cluster, call)
            case "scale", ("update" | "patch"):
                return await scaling.write(self.cluster, call)
            case "binding", "create":
                return await podwrites.bind(self.cluster, call)
            case "eviction", "create":
                return await evicting.evict(self.cluster, call)
            case "token", "create":
                return self._reviewing.token(call)
            case (("ephemeralcontainers" | "resize" | "approval"), ("get" | "update" | "patch")):
                return await self._plain(call)
        raise refusals.method_not_allowed()

    async def _plain(self, call: Call) -> Answer:
        if call.verb == "get":
            return reading.get(self.cluster, call)
        return await (replacing.update(self.cluster, call) if call.verb == "update" else patching.patch(self.cluster, call))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Faults of the store, as an answer."""
    try:
        yield
    except StoreUnavailable as fault:
        raise refusals.unavailable(str(fault)) from fault


def _check_served(call: Call) -> None:
    if call.subresource:
        found = call.served.subresource(call.subresource)
        if found is None:
            raise refusals.no_such_path()
        verbs = found.verbs
    else:
        verbs = call.served.verbs
    if call.verb not in verbs:
        raise refusals.method_not_allowed()
