"""Changes of an object that is there: PUT, the four kinds of patch, and the writes of subresources."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from traincrew.embedded import fields, refusals
from traincrew.embedded.api import admission, deleting, queries, versions
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.cluster import Cluster, decoded, encoded
from traincrew.embedded.patches import managers
from traincrew.embedded.patches.owners import Writing
from traincrew.embedded.served import Object
from traincrew.embedded.store.faults import Stale
from traincrew.embedded.store.records import Key, Record

ATTEMPTS = 5
FROM_BEFORE = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "namespace", "name")


class Wanted(NamedTuple):
    """What a write wants an object to become."""

    object: Object
    warnings: tuple[str, ...] = ()
    version: str = ""
    """The resourceVersion that the writer built on; empty: whichever is there."""
    applied: bool = False
    """Its managed fields are settled already."""
    trusted: bool = False
    """Made by the server itself: what writers may not change may change."""
    door: str = ""
    """The subresource that it came through, where the call itself is about the whole object."""


Transform = Callable[[Object], Awaitable[Wanted]]
"""From the object as it is (in the call's version, a copy) to what is wanted."""


async def change(cluster: Cluster, call: Call, options: queries.WriteOptions, transform: Transform) -> Answer:
    """Tries again when somebody else was faster, unless the writer named the version it built on."""
    for attempt in range(ATTEMPTS):
        record = cluster.existing(call.served, call.namespace, call.name)
        before = versions.titled(decoded(record), call.served)
        wanted = await transform(versions.titled(decoded(record), call.served))
        if wanted.version and wanted.version != str(record.revision):
            raise refusals.modified(call.subject)
        try:
            return await _put(cluster, call, _Write(record, before, wanted, options))
        except Stale:
            if wanted.version or attempt == ATTEMPTS - 1:
                raise refusals.modified(call.subject) from None
    raise AssertionError("unreachable")


class _Write(NamedTuple):
    record: Record
    before: Object
    wanted: Wanted
    options: queries.WriteOptions


async def _put(cluster: Cluster, call: Call, write: _Write) -> Answer:
    served, before = call.served, write.before
    after = _settled(write.wanted.object, before, call)
    warned = list(write.wanted.warnings)
    if not write.wanted.trusted:
        warned += _check(cluster, call, after, before)
    if not write.wanted.applied and before["metadata"].get("managedFields"):
        door = call._replace(subresource=write.wanted.door or call.subresource)
        managers.updated(before, after, served.schema, **writing(cluster, door, write.options.manager))
    if deleting.is_last_word(after):
        return await _gone(cluster, call, write, after)
    if after == before:
        return Answer(200, versions.shown(write.record, served), tuple(warned))
    if write.options.dry_run:
        return Answer(200, encoded(after), tuple(warned))
    stored = after | {"apiVersion": versions.stored_api_version(served)}
    record = await cluster.store.put(write.record.key, stored, write.record.revision)
    return Answer(200, versions.shown(record, served), tuple(warned))


def writing(cluster: Cluster, call: Call, manager: str) -> Writing:
    """Who writes through which door, for the managed fields."""
    served = call.served
    schemas = {each.api_version: each.schema for each in cluster.registry.versions(served)} if served.definition else None
    return Writing(manager=manager, now=cluster.now(), subresource=call.subresource, reset=_unwritable(call), versions=schemas)


MORE_UNWRITABLE = {
    "Deployment": {("metadata", "labels")},
    "Pod": {("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")},
}


def _unwritable(call: Call) -> frozenset[tuple[str, ...]]:
    """What this door cannot write, so that nobody comes to own it there."""
    if call.subresource == "status":
        more = MORE_UNWRITABLE.get(call.served.kind, set()) if call.served.definition is None else set()
        return frozenset({("spec",), *more})
    return frozenset({("status",)}) if call.served.subresource("status") else frozenset()


async def _gone(cluster: Cluster, call: Call, write: _Write, after: Object) -> Answer:
    """The last finalizer of a deleted object was taken away."""
    if not write.options.dry_run:
        stored = after | {"apiVersion": versions.stored_api_version(call.served)}
        record = await cluster.store.put(write.record.key, stored, write.record.revision)
        await cluster.store.delete(write.record.key, record.revision)
    return Answer(200, encoded(after))


def _settled(after: Object, before: Object, call: Call) -> Object:
    meta = {key: value for key, value in after.get("metadata", {}).items() if value is not None}
    kept = before["metadata"]
    for name in FROM_BEFORE:
        if name in kept:
            meta[name] = kept[name]
        else:
            meta.pop(name, None)
    meta["resourceVersion"] = kept["resourceVersion"]
    return versions.titled(after, call.served) | {"metadata": meta}


def _check(cluster: Cluster, call: Call, after: Object, before: Object) -> list[str]:
    served, strategy = call.served, cluster.strategy(call.served)
    strategy.default(after)
    strategy.prepare_update(after, before, call.subresource, admission.context(cluster, call, after))
    warned = admission.admit_change(cluster, call, after, before)
    if faults := strategy.validate_update(after, before, call.subresource):
        raise refusals.invalid(served.kind, served.group, call.name, faults)
    return warned + strategy.warnings(after, before)


async def update(cluster: Cluster, call: Call, obj: Object, options: queries.WriteOptions, warnings: tuple[str, ...]) -> Answer:
    """PUT of an object that was decoded already."""
    meta = obj.get("metadata") or {}
    _check_identity(call, meta)
    version = str(meta.get("resourceVersion") or "")
    if not version and call.served.definition is not None:
        fault = fields.FieldError(
            fields.INVALID, "metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update"
        )
        raise refusals.invalid(call.served.kind, call.served.group, call.name, [fault])

    async def replaced(before: Object) -> Wanted:
        held = before["metadata"]["uid"]
        if meta.get("uid") and meta["uid"] != held:
            raise refusals.conflict(call.subject, _other_uid(call, meta["uid"], held))
        if "managedFields" not in meta and "managedFields" in before["metadata"]:
            obj["metadata"] = meta | {"managedFields": before["metadata"]["managedFields"]}
        return Wanted(dict(obj), warnings, version)

    return await change(cluster, call, options, replaced)


SHELVES = {"services": "services/specs", "endpoints": "services/endpoints", "nodes": "minions"}


def _other_uid(call: Call, asked: str, held: str) -> str:
    """In the words of an API server on etcd."""
    served = call.served
    shelf = f"{served.group}/{served.plural}" if served.definition else SHELVES.get(served.store_name, served.plural)
    place = "/".join(each for each in (shelf, call.namespace, call.name) if each)
    told = f"Precondition failed: UID in precondition: {asked}, UID in object meta: {held}"
    return f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, AdditionalErrorMsg: {told}"


def _check_identity(call: Call, meta: Object) -> None:
    if not meta.get("name"):
        raise refusals.bad_request("name must be provided")
    if meta["name"] != call.name:
        raise refusals.bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})")
    if call.served.namespaced and meta.get("namespace") and meta["namespace"] != call.namespace:
        raise refusals.bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_still_itself(call: Call, meta: Object, held: Object) -> None:
    """What a patch has made must bear the name under which it was asked for, and be no other object of that name."""
    if not meta.get("name"):
        raise refusals.bad_request(f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided")
    _check_identity(call, meta)
    stale = meta.get("resourceVersion", held["resourceVersion"]) != held["resourceVersion"]
    if meta.get("uid", held["uid"]) != held["uid"] and not stale:  # that is told first
        fault = fields.invalid("metadata.uid", meta["uid"], "field is immutable")
        raise refusals.invalid(call.served.kind, call.served.group, call.name, [fault])


def key_of(call: Call) -> Key:
    return Key(call.served.store_name, call.namespace, call.name)
