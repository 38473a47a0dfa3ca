"""What every request goes through once it is known who asks, be it over HTTP or from within the process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.audit.audit_log import Audit
from traincrew.embedded.apiserver.endpoints import (  # fmt: skip
    binding,
    create,
    delete,
    eviction,
    lists,
    metrics_api,
    patch,
    put,
    reads,
    response_encoding,
    scale,
)
from traincrew.embedded.apiserver.endpoints.reviews import Reviewing
from traincrew.embedded.apiserver.endpoints.watches import Watch
from traincrew.embedded.apiserver.requests.request import Request, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.storage.errors import StoreUnavailable
from traincrew.embedded.apiserver.storage.records import Record


class Handler:
    def __init__(self, cluster: RequestScope, reviewing: Reviewing, audit: Audit | None = None) -> None:
        self.cluster = cluster
        self.audit = audit or Audit("")
        """Told by whoever brings requests here."""
        self._reviewing = reviewing

    def authorize(self, call: Request) -> None:
        self.cluster.authorize(call.user, call.asked)

    async def handle(self, call: Request) -> Response:
        """Every verb but list and watch. Raises StatusError."""
        self.authorize(call)
        _check_served(call)
        form = response_encoding.form(call)
        with _told():
            answer = response_encoding.rendered(self.cluster, call, form, await self._dispatch(call))
        answer.warnings = (*call.warnings, *answer.warnings)
        return answer

    async def pieces(self, call: Request) -> response_encoding.Pieces:
        self.authorize(call)
        _check_served(call)
        with _told():
            return await reads.list_pieces(self.cluster, call, await self._measured(call))

    async def listed(self, call: Request) -> lists.Listed:
        self.authorize(call)
        _check_served(call)
        with _told():
            return lists.listed(self.cluster, call, await self._measured(call))

    async def _measured(self, call: Request) -> list[Record] | None:
        return await metrics_api.records(self.cluster, call) if metrics_api.measured(call.served) else None

    def watch(self, call: Request) -> Watch:
        self.authorize(call)
        _check_served(call)
        with _told():
            return reads.watch(self.cluster, call)

    async def _dispatch(self, call: Request) -> Response:
        if call.subresource and call.subresource not in ("status", "finalize"):
            return await self._subresource(call)
        match call.verb:
            case "get" if metrics_api.measured(call.served):
                return await metrics_api.get(self.cluster, call)
            case "get":
                return reads.get(self.cluster, call)
            case "create":
                if self._reviewing.takes(call):
                    return self._reviewing.review(call)
                if call.served.store_name == "bindings":
                    return await binding.bind(self.cluster, self._as_pod(call))
                return await create.create(self.cluster, call)
            case "update":
                return await put.update(self.cluster, call)
            case "patch":
                return await patch.patch(self.cluster, call)
            case "delete":
                return await delete.delete(self.cluster, call)
            case "deletecollection":
                return await delete.delete_collection(self.cluster, call)
        raise api_errors.method_not_allowed()

    def _as_pod(self, call: Request) -> Request:
        pods = self.cluster.registry.find("", "v1", "pods")
        assert pods is not None
        return call._replace(served=pods, subresource="binding")

    async def _subresource(self, call: Request) -> Response:
        match call.subresource, call.verb:
            case "scale", "get":
                return scale.get(self.cluster, call)
            case "scale", ("update" | "patch"):
                return await scale.write(self.cluster, call)
            case "binding", "create":
                return await binding.bind(self.cluster, call)
            case "eviction", "create":
                return await eviction.evict(self.cluster, call)
            case "token", "create":
                return self._reviewing.token(call)
            case (("ephemeralcontainers" | "resize" | "approval"), ("get" | "update" | "patch")):
                return await self._plain(call)
        raise api_errors.method_not_allowed()

    async def _plain(self, call: Request) -> Response:
        if call.verb == "get":
            return reads.get(self.cluster, call)
        return await (put.update(self.cluster, call) if call.verb == "update" else patch.patch(self.cluster, call))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Faults of the store, as an answer."""
    try:
        yield
    except StoreUnavailable as fault:
        raise api_errors.unavailable(str(fault)) from fault


def _check_served(call: Request) -> None:
    if call.subresource:
        found = call.served.subresource(call.subresource)
        if found is None:
            raise api_errors.no_such_path()
        verbs = found.verbs
    else:
        verbs = call.served.verbs
    if call.verb not in verbs:
        raise api_errors.method_not_allowed()
