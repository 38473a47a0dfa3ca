"""Makes objects in the cluster, in order: all of them, or (as far as that can be) none."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from traincrew import errors
from traincrew.apimachinery import merge_patch_diff
from traincrew.cli.jobs import deletion
from traincrew.cli.jobs.manifests import Wanted
from traincrew.cli.jobs.rest_mapping import Mapping
from traincrew.client.remote import RemoteClient
from traincrew.model.resources import Resource

KEPT = ("PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition")
"""What holds other people's things, or data: it is not cleaned up after a job."""


@dataclasses.dataclass(frozen=True)
class Place:
    resource: Resource
    namespace: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.resource.kind.lower()}/{self.name}"


@dataclasses.dataclass(frozen=True)
class Made:
    wanted: Wanted
    place: Place
    raw: bytes

    @property
    def uid(self) -> str:
        uid: str = msgspec.json.decode(self.raw)["metadata"]["uid"]
        return uid


class Submission:
    def __init__(self, client: RemoteClient, namespace: str, say: Callable[[str], None]) -> None:
        self._client, self._namespace, self._say = client, namespace, say
        self._mapping = Mapping(client)
        self.made: list[Made] = []

    async def submit(self, wanted: Sequence[Wanted], *, replace: bool) -> list[Made]:
        """What was made, in order; objects that were there as they should be are not among them."""
        places = [await self._place(each) for each in wanted]
        present = [await self._present(place) for place in places]
        if not replace:
            self._refuse(wanted, places, present)
        try:
            for each, place, there in zip(wanted, places, present, strict=True):
                await self._put(each, place, there)
        except BaseException:
            await self.withdraw()
            raise
        return self.made

    async def withdraw(self) -> list[Made]:
        """Deletes what was made, last first, but for claims and the like: those are returned."""
        kept = []
        for each in reversed(self.made):
            if each.place.resource.kind in KEPT:
                kept.append(each)
                continue
            with contextlib.suppress(errors.NotFound, errors.Conflict):
                place = each.place
                await self._client.delete(place.resource, place.namespace, place.name, uid=each.uid, propagation="Background")
        return kept

    async def _place(self, wanted: Wanted) -> Place:
        document = wanted.document
        if wanted.job is not None:
            version = document["apiVersion"].rpartition("/")[2]
            resource = wanted.job.resource._replace(version=version)
        else:
            resource = await self._mapping.resource(document["apiVersion"], document["kind"], wanted.where)
        meta = document["metadata"]
        namespace = str(meta.get("namespace") or self._namespace) if resource.namespaced else None
        return Place(resource, namespace, str(meta.get("name") or ""))

    async def _present(self, place: Place) -> dict[str, Any] | None:
        if not place.name:
            return None
        try:
            raw = await self._client.get(place.resource, place.namespace, place.name)
        except errors.NotFound:
            return None
        found: dict[str, Any] = msgspec.json.decode(raw)
        return found

    def _refuse(self, wanted: Sequence[Wanted], places: Sequence[Place], present: Sequence[dict[str, Any] | None]) -> None:
        told = []
        for each, place, there in zip(wanted, places, present, strict=True):
            if there is not None and (each.job is not None or not merge_patch_diff.contains(there, each.document)):
                told.append(f"{each.where}: {place} already exists")
        if told:
            hint = "Nothing was changed. Use --replace to replace existing objects."
            raise errors.ManifestError("\n".join([*told, hint]))

    async def _put(self, wanted: Wanted, place: Place, there: dict[str, Any] | None) -> None:
        if there is None:
            await self._create(wanted, place)
        elif wanted.job is not None:
            old = deletion.gone(wanted.job, msgspec.json.encode(there))
            await deletion.delete(self._client, old)
            await deletion.until_gone(self._client, old)
            await self._create(wanted, place)
        elif not merge_patch_diff.contains(there, wanted.document):
            body = msgspec.json.encode(wanted.document)
            await self._client.patch(place.resource, place.namespace, place.name, body)
            self._say(f"{place} configured")

    async def _create(self, wanted: Wanted, place: Place) -> None:
        body = msgspec.json.encode(wanted.document)
        try:
            raw = await self._client.create(place.resource, place.namespace, body, strict=True)
        except errors.AlreadyExists as error:
            if not error.uncertain:
                raise errors.ManifestError(f"{wanted.where}: {place} already exists. Use --replace to replace it.") from error
            raw = await self._client.get(place.resource, place.namespace, place.name)  # our own, whose answer was lost
        except (errors.Rejected, errors.Forbidden, errors.NotFound) as error:
            raise errors.ManifestError(f"{wanted.where}: {place} rejected: {_causes(error)}") from error
        name = str(msgspec.json.decode(raw)["metadata"]["name"])
        made = Made(wanted, dataclasses.replace(place, name=name), raw)
        self.made.append(made)
        self._say(f"{made.place} created")


def _causes(error: errors.ApiError) -> str:
    if len(error.causes) < 2:
        return error.message
    return "".join(f"\n  {cause.field}: {cause.message}" for cause in error.causes)
