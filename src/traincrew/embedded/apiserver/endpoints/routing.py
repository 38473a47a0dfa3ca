"""The verb of a request, and the error for a method or path that is not routed. Built-in and custom resources differ."""

from __future__ import annotations

from traincrew.apimachinery import api_errors, go_format, name_validation
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.requests.request_info import RequestInfo

VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
COLLECTION_VERBS = {"get": "list", "delete": "deletecollection"}
PROXY_METHODS = frozenset((*VERBS, "OPTIONS"))
OBJECT_ROUTES = frozenset(("get", "update", "patch", "delete"))
COLLECTION_ROUTES = frozenset(("list", "create", "deletecollection"))
PROXY = "proxy"
"""The subresource with paths below it. Its verb follows from the method alone."""

RoutingError = api_errors.StatusError | api_errors.PlainTextError


def verb(method: str, target: RequestInfo, query: Query) -> str:
    """The verb of RBAC; empty for a method that has none."""
    meant = VERBS.get(method, "")
    if target.watch:
        return "watch" if meant == "get" else meant
    if target.name:
        return meant
    if meant == "get" and query.flag("watch"):
        return "watch"
    return COLLECTION_VERBS.get(meant, meant)


def routing_error(method: str, verb: str, target: RequestInfo, info: ResourceInfo) -> RoutingError | None:
    """The error of a request that is not routed; None if it is."""
    error = _built_in(method, verb, target, info) if info.definition is None else _custom(verb, target, info)
    return error or _name_error(target.name)


def _name_error(name: str) -> RoutingError | None:
    errors = name_validation.path_segment(name)
    return api_errors.bad_request(f"Name parameter invalid: {go_format.quote(name)}: {';'.join(errors)}") if errors else None


def _built_in(method: str, verb: str, target: RequestInfo, info: ResourceInfo) -> RoutingError | None:
    there = _verbs(target, info)
    if not there:
        return api_errors.path_not_found()
    if target.subresource == PROXY:
        return None if method in PROXY_METHODS else api_errors.method_not_allowed()
    return None if verb in there and method != "HEAD" else api_errors.method_not_allowed()


def _verbs(target: RequestInfo, info: ResourceInfo) -> frozenset[str] | set[str]:
    """The verbs of the path; empty if it is not routed."""
    held = set(info.verbs)
    if (target.rest and target.subresource != PROXY) or (target.namespace and not info.namespaced):
        return set()
    if target.watch:
        return set() if target.subresource else held & {"watch"}
    if info.namespaced and not target.namespace:
        return set() if target.name else held & {"list", "watch"}
    if target.subresource:
        subresource = info.subresource(target.subresource)
        return set(subresource.verbs) if subresource else set()
    return held & OBJECT_ROUTES if target.name else held & (COLLECTION_ROUTES | {"watch"})


def _custom(verb: str, target: RequestInfo, info: ResourceInfo) -> RoutingError | None:
    subject = api_errors.StatusDetails(info.plural, info.group, target.name)
    if target.namespace and not info.namespaced:
        return api_errors.page_not_found()
    if info.namespaced and not target.namespace and verb not in ("list", "watch"):
        return api_errors.page_not_found()
    if target.subresource:
        subresource = info.subresource(target.subresource)
        if subresource is None:
            return api_errors.not_found(subject)
        return None if verb in subresource.verbs else api_errors.method_not_supported(subject, verb)
    if verb not in info.verbs:
        return api_errors.method_not_supported(subject, verb)
    if verb in ("update", "patch") and not target.name:
        return api_errors.bad_request("name must be provided")
    return _terminating(subject, info) if verb == "create" else None


def _terminating(subject: api_errors.StatusDetails, info: ResourceInfo) -> RoutingError | None:
    if not (info.definition or {}).get("metadata", {}).get("deletionTimestamp"):
        return None
    error = api_errors.method_not_supported(subject, "create")
    error.message = "create not allowed while custom resource definition is terminating"
    return error
