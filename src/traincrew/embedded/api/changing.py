"""Changes of an object that is there: PUT, the four kinds of patch, and the writes of subresources."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from traincrew.embedded import fields, refusals
from traincrew.embedded.api import admission, marks, ownership, queries, versions
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.cluster import Cluster, encoded
from traincrew.embedded.patches import managers
from traincrew.embedded.patches.owners import Writing
from traincrew.embedded.sameness import same
from traincrew.embedded.schemas import coercion, gowords
from traincrew.embedded.served import Object
from traincrew.embedded.store.faults import Stale
from traincrew.embedded.store.records import Key, Record

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


async def change(cluster: Cluster, call: Call, options: queries.WriteOptions, transform: Transform) -> Answer:
    """Tries again when somebody else was faster; a writer that names the version it built on is refused then."""
    for _ in range(ATTEMPTS):
        record = cluster.existing(call.served, call.namespace, call.name)
        before = versions.read(record, call.served)
        wanted = await transform(versions.read(record, call.served))
        _check_version(cluster, call, wanted.object["metadata"].get("resourceVersion") or "", record.revision)
        try:
            return await _put(cluster, call, _Write(record, before, wanted, options))
        except Stale:
            continue
    raise refusals.modified(call.subject)


def _check_version(cluster: Cluster, call: Call, named: str, held: int) -> None:
    if named and not named.isdecimal():
        raise refusals.Refusal(500, "", f"strconv.ParseUint: parsing {gowords.quote(named)}: invalid syntax")
    version = int(named or 0)
    if not version and not cluster.strategy(call.served).unconditional:
        fault = fields.FieldError(
            fields.INVALID, "metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update"
        )
        raise refusals.invalid(call.served.plural, call.served.group, call.name, [fault])
    if version and version != held:
        raise refusals.modified(call.subject)


class _Write(NamedTuple):
    record: Record
    before: Object
    wanted: Wanted
    options: queries.WriteOptions


async def _put(cluster: Cluster, call: Call, write: _Write) -> Answer:
    served, before = call.served, write.before
    after = _settled(write.wanted.object, before, call)
    warned = [*ownership.once(after, call.verb == "patch"), *write.wanted.warnings]
    if not write.wanted.trusted:
        warned += _check(cluster, call, after, before)
    if not write.wanted.applied and before["metadata"].get("managedFields"):
        door = call._replace(subresource=write.wanted.door or call.subresource)
        managers.updated(before, after, served.schema, **writing(cluster, door, write.options.manager))
    if marks.is_last_word(after):
        return await _gone(cluster, call, write, after)
    if served.definition is not None:
        coercion.whole(after)
    if same(after, before):
        return Answer(200, versions.shown(write.record, served), tuple(warned))
    stored = versions.kept(after, served)
    if write.options.dry_run:
        return Answer(200, encoded(versions.back(stored, served)), tuple(warned))
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
    """The last finalizer of a deleted object was taken away: it goes as it was stored, and the writer sees it without."""
    if not write.options.dry_run:
        await cluster.store.delete(write.record.key, write.record.revision)
    return Answer(200, encoded(after))


def _settled(after: Object, before: Object, call: Call) -> Object:
    meta = {key: value for key, value in after.get("metadata", {}).items() if value is not None and key != "selfLink"}
    if call.served.namespaced:
        meta["namespace"] = call.namespace
    meta["resourceVersion"] = before["metadata"]["resourceVersion"]
    return versions.titled(after, call.served) | {"metadata": meta}


def _check(cluster: Cluster, call: Call, after: Object, before: Object) -> list[str]:
    served, strategy = call.served, cluster.strategy(call.served)
    strategy.default(after)
    strategy.prepare_update(after, before, call.subresource, admission.context(cluster, call, before))
    warned = admission.admit_change(cluster, call, after, before)
    if faults := strategy.validate_update(after, before, call.subresource):
        raise refusals.invalid(served.kind, (served.kept_as or served).group, call.name, faults)
    return warned + strategy.warnings(after, before)


def check_identity(call: Call, meta: Object) -> None:
    """What is written must bear the name under which it was asked for."""
    if not meta.get("name"):
        raise refusals.bad_request(f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided")
    if meta["name"] != call.name:
        raise refusals.bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})")
    if call.served.namespaced and meta.get("namespace") and meta["namespace"] != call.namespace:
        raise refusals.bad_request("the namespace of the provided object does not match the namespace sent on the request")


def key_of(call: Call) -> Key:
    return Key(call.served.store_name, call.namespace, call.name)
