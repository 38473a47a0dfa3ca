"""References to jobs: NAME, or KIND/NAME if several kinds have a job of that name."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

from traincrew import errors
from traincrew.apimachinery import suggestions
from traincrew.client import interfaces
from traincrew.kinds import KINDS, lookup
from traincrew.kinds.kind import JobKind
from traincrew.validation.crd_install_command import INSTALL


class JobReference(NamedTuple):
    kind: JobKind | None
    name: str

    @property
    def kind_name(self) -> str:
        return self.kind.singular if self.kind else "job"


class StoredJob(NamedTuple):
    kind: JobKind
    raw: bytes

    @property
    def reference(self) -> str:
        import msgspec

        name: str = msgspec.json.decode(self.raw)["metadata"]["name"]
        return f"{self.kind.singular}/{name}"


def parse(text: str) -> JobReference:
    kind_name, slash, name = text.partition("/")
    if not slash:
        return JobReference(None, _validate_name(text, text))
    return JobReference(find_kind(kind_name), _validate_name(name, text))


def find_kind(kind_name: str) -> JobKind:
    """A kind by any of the names that kubectl accepts."""
    if (kind := lookup.find(kind_name)) is None:
        raise errors.SettingsError(lookup.unknown_kind(kind_name))
    return kind


def _validate_name(name: str, text: str) -> str:
    if not name or "/" in name:
        raise errors.SettingsError(f"invalid job name {text!r}: expected NAME or KIND/NAME, such as {KINDS[0].singular}/mnist")
    return name


async def find(reader: interfaces.Reader, namespace: str, text: str) -> StoredJob:
    reference = parse(text)
    kinds = KINDS if reference.kind is None else (reference.kind,)
    results = await asyncio.gather(*(_get(reader, kind, namespace, reference.name) for kind in kinds))
    matches = [StoredJob(kind, raw) for kind, raw in zip(kinds, results, strict=True) if raw is not None]
    if len(matches) == 1:
        return matches[0]
    if matches:
        choices = " or ".join(f"{found.kind.singular}/{reference.name}" for found in matches)
        raise errors.AmbiguousJob(f'{len(matches)} jobs are named "{reference.name}" in namespace "{namespace}". Use {choices}.')
    raise errors.NoJob(await not_found_message(reader, namespace, reference))


async def _get(reader: interfaces.Reader, kind: JobKind, namespace: str, name: str) -> bytes | None:
    try:
        return await reader.get(kind.resource, namespace, name)
    except errors.NotFound:
        return None


async def list_jobs(reader: interfaces.Reader, namespace: str | None, kinds: tuple[JobKind, ...] = KINDS) -> list[StoredJob]:
    """All jobs, sorted by kind. A kind whose CRD is not installed has no jobs."""
    lists = await asyncio.gather(*(_list_kind(reader, kind, namespace) for kind in kinds))
    if all(each is None for each in lists):
        raise errors.UnsuitableState(f"the cluster has no CRDs of training jobs. Run `{INSTALL}` to install them.")
    return [StoredJob(kind, raw) for kind, each in zip(kinds, lists, strict=True) for raw in each or ()]


async def _list_kind(reader: interfaces.Reader, kind: JobKind, namespace: str | None) -> list[bytes] | None:
    try:
        return [item async for page in reader.pages(kind.resource, namespace) for item in page.items]
    except errors.NotFound:
        return None


async def _readable_jobs(reader: interfaces.Reader, namespace: str) -> list[StoredJob]:
    """Of all namespaces, else of this one: users may have rights in one namespace alone."""
    for scope in (None, namespace):
        with contextlib.suppress(errors.Forbidden):
            return await list_jobs(reader, scope)
    return []


async def not_found_message(reader: interfaces.Reader, namespace: str, reference: JobReference) -> str:
    import msgspec

    all_jobs = [(kind, msgspec.json.decode(raw)["metadata"]) for kind, raw in await _readable_jobs(reader, namespace)]
    message = f'{reference.kind_name} "{reference.name}" not found in namespace "{namespace}"'
    namesakes = [(kind, meta["namespace"]) for kind, meta in all_jobs if meta["name"] == reference.name]
    for kind, other in sorted(namesakes, key=lambda each: each[1] != namespace):
        if other == namespace:
            return f"{message}. Did you mean {kind.singular}/{reference.name}?"
        return f'{message}. {kind.singular}/{reference.name} exists in namespace "{other}": add -n {other}.'
    neighbours = [meta["name"] for _, meta in all_jobs if meta["namespace"] == namespace]
    suggestion = suggestions.did_you_mean(reference.name, neighbours)
    return message + (suggestion or ". Run `traincrew ls -A` to list all jobs.")
