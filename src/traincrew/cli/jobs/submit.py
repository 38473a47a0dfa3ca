"""Creates the objects of manifests in order. If one cannot be created, the created ones are deleted again."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from traincrew import errors
from traincrew.apimachinery import merge_patch_diff
from traincrew.cli.jobs import deletion, unmapped_images
from traincrew.client.remote import RemoteClient
from traincrew.inspection.manifests import ManifestObject
from traincrew.inspection.rest_mapping import RestMapping
from traincrew.kinds import KINDS
from traincrew.model.resources import Resource

KEPT_KINDS = ("PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition")
"""Kinds that hold data or objects of others: they are not deleted together with a job."""
CREATE_TIMEOUT = 10.0
"""Seconds to wait for the response to a create after an interrupt."""


@dataclasses.dataclass(frozen=True)
class ObjectKey:
    resource: Resource
    namespace: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.resource.kind.lower()}/{self.name}"

    def deletion(self) -> str:
        """The command that deletes the object."""
        is_job = (self.resource.group, self.resource.kind) in {(kind.resource.group, kind.kind) for kind in KINDS}
        command = "traincrew" if is_job else "kubectl"
        namespace = f" -n {self.namespace}" if self.namespace else ""
        return f"{command} delete{namespace} {self}"

    def may_exist(self) -> str:
        """The sentence about an object whose deletion the API server has not confirmed."""
        return f"It may still exist. Run `{self.deletion()}` to delete it."


@dataclasses.dataclass(frozen=True)
class CreatedObject:
    wanted: ManifestObject
    key: ObjectKey
    raw: bytes

    @property
    def uid(self) -> str:
        uid: str = msgspec.json.decode(self.raw)["metadata"]["uid"]
        return uid


@dataclasses.dataclass(frozen=True)
class Rollback:
    deleted: tuple[CreatedObject, ...] = ()
    kept: tuple[CreatedObject, ...] = ()
    """Of KEPT_KINDS, and finished jobs."""
    failed: tuple[tuple[CreatedObject, str], ...] = ()
    """Objects that the API server has not deleted, and why."""

    def messages(self) -> list[str]:
        lines = [f"Deleting {', '.join(str(each.key) for each in self.deleted)}."] if self.deleted else []
        return [*lines, *(f"{each.key} could not be deleted: {why}. {each.key.may_exist()}" for each, why in self.failed)]


class Submission:
    def __init__(self, client: RemoteClient, namespace: str, report: Callable[[str], None]) -> None:
        self._client, self._namespace, self._report = client, namespace, report
        self._mapping = RestMapping(client)
        self.created: list[CreatedObject] = []
        self.uncertain: list[ObjectKey] = []
        """Objects of interrupted requests without a response. The API server may have created them."""

    async def submit(self, wanted: Sequence[ManifestObject], *, replace: bool) -> list[CreatedObject]:
        """Return the created objects in order, without objects that existed before.

        A cancelled submission keeps what it created, for `rollback`.
        """
        keys = [await self._key(entry) for entry in wanted]
        existing = [await self._get(key) for key in keys]
        if not replace:
            self._reject_existing(wanted, keys, existing)
        try:
            for entry, key, current in zip(wanted, keys, existing, strict=True):
                await self._apply(entry, key, current)
        except Exception:
            for message in (await self.rollback()).messages():
                self._report(message)
            raise
        return self.created

    async def rollback(self, finished: Collection[CreatedObject] = ()) -> Rollback:
        """Delete the created objects in reverse order, except KEPT_KINDS and the finished jobs."""
        deleted, kept, failed = list[CreatedObject](), list[CreatedObject](), list[tuple[CreatedObject, str]]()
        for entry in reversed(self.created):
            if entry.key.resource.kind in KEPT_KINDS or entry in finished:
                kept.append(entry)
                continue
            try:
                with contextlib.suppress(errors.NotFound, errors.Conflict):
                    await self._delete(entry)
                deleted.append(entry)
            except errors.ApiError as error:
                failed.append((entry, error.message))
        return Rollback(tuple(deleted), tuple(kept), tuple(failed))

    async def _delete(self, entry: CreatedObject) -> None:
        key = entry.key
        await self._client.delete(key.resource, key.namespace, key.name, uid=entry.uid, propagation="Background")

    async def _key(self, wanted: ManifestObject) -> ObjectKey:
        document = wanted.document
        if wanted.job is not None:
            version = document["apiVersion"].rpartition("/")[2]
            resource = wanted.job.resource._replace(version=version)
        else:
            resource = await self._mapping.resource(document["apiVersion"], document["kind"], wanted.location)
        meta = document["metadata"]
        namespace = str(meta.get("namespace") or self._namespace) if resource.namespaced else None
        return ObjectKey(resource, namespace, str(meta.get("name") or ""))

    async def _get(self, key: ObjectKey) -> dict[str, Any] | None:
        if not key.name:
            return None
        try:
            raw = await self._client.get(key.resource, key.namespace, key.name)
        except errors.NotFound:
            return None
        document: dict[str, Any] = msgspec.json.decode(raw)
        return document

    def _reject_existing(
        self, wanted: Sequence[ManifestObject], keys: Sequence[ObjectKey], existing: Sequence[dict[str, Any] | None]
    ) -> None:
        conflicts = [
            (entry, key)
            for entry, key, current in zip(wanted, keys, existing, strict=True)
            if current is not None and (entry.job is not None or not merge_patch_diff.contains(current, entry.document))
        ]
        if conflicts:
            lines = [f"{_place(entry)}: {key} already exists" for entry, key in conflicts]
            raise errors.ManifestError("\n".join([*lines, f"Nothing was changed. {_instead(conflicts)}"]))

    async def _apply(self, wanted: ManifestObject, key: ObjectKey, current: dict[str, Any] | None) -> None:
        if current is None:
            await self._create_to_the_end(wanted, key)
        elif wanted.job is not None:
            old = deletion.identify(wanted.job, msgspec.json.encode(current))
            await deletion.delete(self._client, old)
            await deletion.wait_until_deleted(self._client, old)
            await self._create_to_the_end(wanted, key)
        elif not merge_patch_diff.contains(current, wanted.document):
            body = msgspec.json.encode(wanted.document)
            await self._client.patch(key.resource, key.namespace, key.name, body)
            self._report(f"{key} configured")

    async def _create_to_the_end(self, wanted: ManifestObject, key: ObjectKey) -> None:
        """A cancelled request may still create the object. Its response is awaited, so that `rollback` deletes the object."""
        creating = asyncio.ensure_future(self._create(wanted, key))
        try:
            await asyncio.shield(creating)
        except asyncio.CancelledError:
            done, _ = await asyncio.wait({creating}, timeout=CREATE_TIMEOUT)
            if not done:
                creating.cancel()
                self.uncertain.append(key)
            await asyncio.gather(creating, return_exceptions=True)
            raise

    async def _create(self, wanted: ManifestObject, key: ObjectKey) -> None:
        body = msgspec.json.encode(wanted.document)
        try:
            raw = await self._client.create(key.resource, key.namespace, body, strict=True)
        except errors.AlreadyExists as error:
            if not error.uncertain:
                message = f"{_place(wanted)}: {key} already exists. {_instead([(wanted, key)])}"
                raise errors.ManifestError(message) from error
            raw = await self._client.get(key.resource, key.namespace, key.name)  # created by a request whose response was lost
        except (errors.Rejected, errors.Forbidden, errors.NotFound) as error:
            raise errors.ManifestError(f"{wanted.location}: {key} rejected: {_causes(error)}") from error
        name = str(msgspec.json.decode(raw)["metadata"]["name"])
        created = CreatedObject(wanted, dataclasses.replace(key, name=name), raw)
        self.created.append(created)
        self._report(f"{created.key} created{_roles(wanted)}")


def _instead(conflicts: Sequence[tuple[ManifestObject, ObjectKey]]) -> str:
    """What to do if objects of these names exist."""
    wanted, _ = conflicts[0]
    deletions = "; ".join(key.deletion() for _, key in conflicts)
    other = "--name" if _place(wanted) == "--name" else "metadata.name in the manifest"
    them, names = ("it", f"another name ({other})") if len(conflicts) == 1 else ("them", f"other names ({other})")
    return f"Run `{deletions}`, use {names}, or replace {them} with --replace."


def _roles(wanted: ManifestObject) -> str:
    """What --workers has become: the Master is one of them, the Launcher is not."""
    if wanted.job is None or not wanted.location.startswith(unmapped_images.GENERATED):
        return ""
    counts = [f"{role.get('replicas', 1)} {name}" for name, role in wanted.document["spec"][wanted.job.replicas_field].items()]
    return f": {', '.join(counts)}"


def _causes(error: errors.ApiError) -> str:
    if len(error.causes) < 2:
        return error.message
    return "".join(f"\n  {cause.field}: {cause.message}" for cause in error.causes)


def _place(wanted: ManifestObject) -> str:
    """Where the user has given the name of the object."""
    return "--name" if wanted.location.startswith(unmapped_images.GENERATED) else wanted.location
