"""Changes of an object that is there: PUT, the four kinds of patch, and the writes of subresources."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from traincrew.apimachinery import api_errors, field_errors, go_wording
from traincrew.apimachinery.json_equality import same
from traincrew.apimachinery.patches import field_managers
from traincrew.apimachinery.patches.managed_fields import Writing
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.admission import chain
from traincrew.embedded.apiserver.endpoints import graceful_deletion, owner_references, version_conversion
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import Request, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded
from traincrew.embedded.apiserver.schema import coercion
from traincrew.embedded.apiserver.storage.errors import Stale
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


async def change(cluster: RequestScope, call: Request, options: query_parameters.WriteOptions, transform: Transform) -> Response:
    """Tries again when somebody else was faster; a writer that names the version it built on is refused then."""
    for _ in range(ATTEMPTS):
        record = cluster.existing(call.served, call.namespace, call.name)
        before = version_conversion.read(record, call.served)
        wanted = await transform(version_conversion.read(record, call.served))
        _check_version(cluster, call, wanted.object["metadata"].get("resourceVersion") or "", record.revision)
        try:
            return await _put(cluster, call, _Write(record, before, wanted, options))
        except Stale:
            continue
    raise api_errors.modified(call.subject)


def _check_version(cluster: RequestScope, call: Request, named: str, held: int) -> None:
    if named and not named.isdecimal():
        raise api_errors.StatusError(500, "", f"strconv.ParseUint: parsing {go_wording.quote(named)}: invalid syntax")
    version = int(named or 0)
    if not version and not cluster.strategy(call.served).unconditional:
        fault = field_errors.FieldError(
            field_errors.INVALID, "metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update"
        )
        raise api_errors.invalid(call.served.plural, call.served.group, call.name, [fault])
    if version and version != held:
        raise api_errors.modified(call.subject)


class _Write(NamedTuple):
    record: Record
    before: Object
    wanted: Wanted
    options: query_parameters.WriteOptions


async def _put(cluster: RequestScope, call: Request, write: _Write) -> Response:
    served, before = call.served, write.before
    after = _settled(write.wanted.object, before, call)
    warned = [*owner_references.once(after, call.verb == "patch"), *write.wanted.warnings]
    if not write.wanted.trusted:
        warned += _check(cluster, call, after, before)
    if not write.wanted.applied and before["metadata"].get("managedFields"):
        door = call._replace(subresource=write.wanted.door or call.subresource)
        field_managers.updated(before, after, served.schema, **writing(cluster, door, write.options.manager))
    if graceful_deletion.is_last_word(after):
        return await _gone(cluster, call, write, after)
    if served.definition is not None:
        coercion.whole(after)
    if same(after, before):
        return Response(200, version_conversion.shown(write.record, served), tuple(warned))
    stored = version_conversion.kept(after, served)
    if write.options.dry_run:
        return Response(200, encoded(version_conversion.back(stored, served)), tuple(warned))
    record = await cluster.store.put(write.record.key, stored, write.record.revision)
    return Response(200, version_conversion.shown(record, served), tuple(warned))


def writing(cluster: RequestScope, call: Request, manager: str) -> Writing:
    """Who writes through which door, for the managed fields."""
    served = call.served
    schemas = {each.api_version: each.schema for each in cluster.registry.versions(served)} if served.definition else None
    return Writing(manager=manager, now=cluster.now(), subresource=call.subresource, reset=_unwritable(call), versions=schemas)


MORE_UNWRITABLE = {
    "Deployment": {("metadata", "labels")},
    "Pod": {("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")},
}


def _unwritable(call: Request) -> frozenset[tuple[str, ...]]:
    """What this door cannot write, so that nobody comes to own it there."""
    if call.subresource == "status":
        more = MORE_UNWRITABLE.get(call.served.kind, set()) if call.served.definition is None else set()
        return frozenset({("spec",), *more})
    return frozenset({("status",)}) if call.served.subresource("status") else frozenset()


async def _gone(cluster: RequestScope, call: Request, write: _Write, after: Object) -> Response:
    """The last finalizer of a deleted object was taken away: it goes as it was stored, and the writer sees it without."""
    if not write.options.dry_run:
        await cluster.store.delete(write.record.key, write.record.revision)
    return Response(200, encoded(after))


def _settled(after: Object, before: Object, call: Request) -> Object:
    meta = {key: value for key, value in after.get("metadata", {}).items() if value is not None and key != "selfLink"}
    if call.served.namespaced:
        meta["namespace"] = call.namespace
    meta["resourceVersion"] = before["metadata"]["resourceVersion"]
    return version_conversion.titled(after, call.served) | {"metadata": meta}


def _check(cluster: RequestScope, call: Request, after: Object, before: Object) -> list[str]:
    served, strategy = call.served, cluster.strategy(call.served)
    strategy.default(after)
    strategy.prepare_update(after, before, call.subresource, chain.context(cluster, call, before))
    warned = chain.admit_change(cluster, call, after, before)
    if faults := strategy.validate_update(after, before, call.subresource):
        raise api_errors.invalid(served.kind, (served.kept_as or served).group, call.name, faults)
    return warned + strategy.warnings(after, before)


def check_identity(call: Request, meta: Object) -> None:
    """What is written must bear the name under which it was asked for."""
    if not meta.get("name"):
        raise api_errors.bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        )
    if meta["name"] != call.name:
        raise api_errors.bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})")
    if call.served.namespaced and meta.get("namespace") and meta["namespace"] != call.namespace:
        raise api_errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")


def key_of(call: Request) -> Key:
    return Key(call.served.store_name, call.namespace, call.name)
