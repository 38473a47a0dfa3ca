"""Changes of an object that is there: PUT, the four kinds of patch, and the writes of subresources."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from traincrew.apimachinery import api_errors, field_errors, go_format, json_equality
from traincrew.apimachinery.patches import field_managers
from traincrew.apimachinery.patches.managed_fields import Writing
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.admission import chain
from traincrew.embedded.apiserver.endpoints import graceful_deletion, owner_references, version_conversion
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import Request, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded
from traincrew.embedded.apiserver.schema import coercion
from traincrew.embedded.apiserver.storage.errors import RevisionConflict
from traincrew.embedded.apiserver.storage.records import Key, Record

ATTEMPTS = 5


class Wanted(NamedTuple):
    """What a write wants an object to become."""

    object: Object
    warnings: tuple[str, ...] = ()
    applied: bool = False
    """Its managed fields are settled already."""
    trusted: bool = False
    """Made by the server itself: what writers may not change may change."""
    door: str = ""
    """The subresource that it came through, where the call itself is about the whole object."""


Transform = Callable[[Object], Awaitable[Wanted]]
"""From the object as it is (in the call's version, a copy) to what is wanted."""


async def change(scope: RequestScope, request: Request, options: query_parameters.WriteOptions, transform: Transform) -> Response:
    """Tries again when somebody else was faster; a writer that names the version it built on is refused then."""
    for _ in range(ATTEMPTS):
        record = scope.existing(request.info, request.namespace, request.name)
        before = version_conversion.read(record, request.info)
        wanted = await transform(version_conversion.read(record, request.info))
        _check_version(scope, request, wanted.object["metadata"].get("resourceVersion") or "", record.revision)
        try:
            return await _put(scope, request, _Write(record, before, wanted, options))
        except RevisionConflict:
            continue
    raise api_errors.modified(request.subject)


def _check_version(scope: RequestScope, request: Request, named: str, held: int) -> None:
    if named and not named.isdecimal():
        raise api_errors.StatusError(500, "", f"strconv.ParseUint: parsing {go_format.quote(named)}: invalid syntax")
    version = int(named or 0)
    if not version and not scope.strategy(request.info).unconditional:
        fault = field_errors.FieldError(
            field_errors.INVALID, "metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update"
        )
        raise api_errors.invalid(request.info.plural, request.info.group, request.name, [fault])
    if version and version != held:
        raise api_errors.modified(request.subject)


class _Write(NamedTuple):
    record: Record
    before: Object
    wanted: Wanted
    options: query_parameters.WriteOptions


async def _put(scope: RequestScope, request: Request, write: _Write) -> Response:
    info, before = request.info, write.before
    after = _settled(write.wanted.object, before, request)
    warned = [*owner_references.once(after, request.verb == "patch"), *write.wanted.warnings]
    if not write.wanted.trusted:
        warned += _check(scope, request, after, before)
    if not write.wanted.applied and before["metadata"].get("managedFields"):
        door = request._replace(subresource=write.wanted.door or request.subresource)
        field_managers.updated(before, after, info.schema, **writing(scope, door, write.options.manager))
    if graceful_deletion.is_last_word(after):
        return await _gone(scope, request, write, after)
    if info.definition is not None:
        coercion.whole(after)
    if json_equality.deep_equal(after, before):
        return Response(200, version_conversion.shown(write.record, info), tuple(warned))
    stored = version_conversion.kept(after, info)
    if write.options.dry_run:
        return Response(200, encoded(version_conversion.back(stored, info)), tuple(warned))
    record = await scope.store.put(write.record.key, stored, write.record.revision)
    return Response(200, version_conversion.shown(record, info), tuple(warned))


def writing(scope: RequestScope, request: Request, manager: str) -> Writing:
    """Who writes through which door, for the managed fields."""
    info = request.info
    schemas = {each.api_version: each.schema for each in scope.registry.versions(info)} if info.definition else None
    return Writing(
        manager=manager, now=scope.now(), subresource=request.subresource, reset=_unwritable(request), versions=schemas
    )


MORE_UNWRITABLE = {
    "Deployment": {("metadata", "labels")},
    "Pod": {("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")},
}


def _unwritable(request: Request) -> frozenset[tuple[str, ...]]:
    """What this door cannot write, so that nobody comes to own it there."""
    if request.subresource == "status":
        more = MORE_UNWRITABLE.get(request.info.kind, set()) if request.info.definition is None else set()
        return frozenset({("spec",), *more})
    return frozenset({("status",)}) if request.info.subresource("status") else frozenset()


async def _gone(scope: RequestScope, request: Request, write: _Write, after: Object) -> Response:
    """The last finalizer of a deleted object was taken away: it goes as it was stored, and the writer sees it without."""
    if not write.options.dry_run:
        await scope.store.delete(write.record.key, write.record.revision)
    return Response(200, encoded(after))


def _settled(after: Object, before: Object, request: Request) -> Object:
    meta = {key: value for key, value in after.get("metadata", {}).items() if value is not None and key != "selfLink"}
    if request.info.namespaced:
        meta["namespace"] = request.namespace
    meta["resourceVersion"] = before["metadata"]["resourceVersion"]
    return version_conversion.titled(after, request.info) | {"metadata": meta}


def _check(scope: RequestScope, request: Request, after: Object, before: Object) -> list[str]:
    info, strategy = request.info, scope.strategy(request.info)
    strategy.default(after)
    strategy.prepare_update(after, before, request.subresource, chain.context(scope, request, before))
    warned = chain.admit_change(scope, request, after, before)
    if faults := strategy.validate_update(after, before, request.subresource):
        raise api_errors.invalid(info.kind, (info.kept_as or info).group, request.name, faults)
    return warned + strategy.warnings(after, before)


def check_identity(request: Request, meta: Object) -> None:
    """What is written must bear the name under which it was asked for."""
    if not meta.get("name"):
        raise api_errors.bad_request(
            f"the name of the object ({request.name} based on URL) was undeterminable: name must be provided"
        )
    if meta["name"] != request.name:
        raise api_errors.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({request.name})"
        )
    if request.info.namespaced and meta.get("namespace") and meta["namespace"] != request.namespace:
        raise api_errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")


def key_of(request: Request) -> Key:
    return Key(request.info.store_name, request.namespace, request.name)
