"""The handler of authenticated requests for resources, over HTTP or from within the process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.audit.audit_log import AuditLog
from traincrew.embedded.apiserver.endpoints import (
    binding,
    create,
    delete,
    eviction,
    lists,
    metrics_api,
    patch,
    reads,
    response_encoding,
    scale,
    update,
)
from traincrew.embedded.apiserver.endpoints.reviews import ReviewHandler
from traincrew.embedded.apiserver.endpoints.watches import Watch
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope
from traincrew.embedded.apiserver.storage.errors import ObjectTooLarge, StoreUnavailable
from traincrew.embedded.apiserver.storage.records import Record


class Handler:
    def __init__(self, scope: RequestScope, reviews: ReviewHandler, audit: AuditLog | None = None) -> None:
        self.scope = scope
        self.audit = audit or AuditLog("")
        """The callers of the handler record requests in it."""
        self._reviews = reviews

    def authorize(self, request: ApiRequest) -> None:
        self.scope.authorize(request.user, request.asked)

    async def handle(self, request: ApiRequest) -> Response:
        """Every verb but list and watch. Raises StatusError."""
        self.authorize(request)
        _check_verb(request)
        form = response_encoding.negotiate(request)
        with _storage_errors():
            response = response_encoding.transform(self.scope, request, form, await self._dispatch(request))
        response.warnings = (*request.warnings, *response.warnings)
        return response

    async def list_chunks(self, request: ApiRequest) -> response_encoding.ChunkedBody:
        self.authorize(request)
        _check_verb(request)
        with _storage_errors():
            return await reads.list_chunks(self.scope, request, await self._metrics_records(request))

    async def list_records(self, request: ApiRequest) -> lists.ListResult:
        self.authorize(request)
        _check_verb(request)
        with _storage_errors():
            return lists.list_records(self.scope, request, await self._metrics_records(request))

    async def _metrics_records(self, request: ApiRequest) -> list[Record] | None:
        return await metrics_api.records(self.scope, request) if metrics_api.is_metrics(request.info) else None

    def watch(self, request: ApiRequest) -> Watch:
        self.authorize(request)
        _check_verb(request)
        with _storage_errors():
            return reads.watch(self.scope, request)

    async def _dispatch(self, request: ApiRequest) -> Response:
        if request.subresource and request.subresource not in ("status", "finalize"):
            return await self._subresource(request)
        match request.verb:
            case "get" if metrics_api.is_metrics(request.info):
                return await metrics_api.get(self.scope, request)
            case "get":
                return reads.get(self.scope, request)
            case "create":
                if self._reviews.handles(request):
                    return self._reviews.review(request)
                if request.info.store_name == "bindings":
                    return await binding.bind(self.scope, self._as_pod(request))
                return await create.create(self.scope, request)
            case "update":
                return await update.update(self.scope, request)
            case "patch":
                return await patch.patch(self.scope, request)
            case "delete":
                return await delete.delete(self.scope, request)
            case "deletecollection":
                return await delete.delete_collection(self.scope, request)
        raise api_errors.method_not_allowed()

    def _as_pod(self, request: ApiRequest) -> ApiRequest:
        pods = self.scope.registry.find("", "v1", "pods")
        assert pods is not None
        return request._replace(info=pods, subresource="binding")

    async def _subresource(self, request: ApiRequest) -> Response:
        match request.subresource, request.verb:
            case "scale", "get":
                return scale.get(self.scope, request)
            case "scale", ("update" | "patch"):
                return await scale.write(self.scope, request)
            case "binding", "create":
                return await binding.bind(self.scope, request)
            case "eviction", "create":
                return await eviction.evict(self.scope, request)
            case "token", "create":
                return self._reviews.token(request)
            case "ephemeralcontainers", ("get" | "update" | "patch"):
                return await self._plain(request)
        raise api_errors.method_not_allowed()

    async def _plain(self, request: ApiRequest) -> Response:
        if request.verb == "get":
            return reads.get(self.scope, request)
        return await (update.update(self.scope, request) if request.verb == "update" else patch.patch(self.scope, request))


@contextlib.contextmanager
def _storage_errors() -> Iterator[None]:
    """Errors of the store, as a Status."""
    try:
        yield
    except StoreUnavailable as error:
        raise api_errors.service_unavailable(str(error)) from error
    except ObjectTooLarge as error:
        raise api_errors.request_entity_too_large(f"Request entity too large: {error}") from None


def _check_verb(request: ApiRequest) -> None:
    if request.subresource:
        subresource = request.info.subresource(request.subresource)
        if subresource is None:
            raise api_errors.path_not_found()
        verbs = subresource.verbs
    else:
        verbs = request.info.verbs
    if request.verb not in verbs:
        raise api_errors.method_not_allowed()
