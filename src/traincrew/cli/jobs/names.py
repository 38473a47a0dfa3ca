"""How people name a job: NAME, or KIND/NAME where several kinds have one of that name."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from traincrew import errors
from traincrew.client import port
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model import suggestions


class Named(NamedTuple):
    kind: JobKind | None
    name: str


class Found(NamedTuple):
    kind: JobKind
    raw: bytes

    @property
    def reference(self) -> str:
        import msgspec

        name: str = msgspec.json.decode(self.raw)["metadata"]["name"]
        return f"{self.kind.singular}/{name}"


def parse(text: str) -> Named:
    word, slash, name = text.partition("/")
    if not slash:
        return Named(None, _checked(text, text))
    return Named(find_kind(word), _checked(name, text))


def find_kind(word: str) -> JobKind:
    """A kind by any of the names that kubectl knows it by."""
    plain = word.lower().partition(".")[0]
    for kind in KINDS:
        if plain in (kind.singular, kind.plural, *kind.crd.short_names, kind.framework):
            return kind
    known = [kind.kind for kind in KINDS]
    meant = suggestions.did_you_mean(word, known)
    raise errors.SettingsError(f"unknown kind {word!r}{meant or '. Known kinds: ' + ', '.join(known) + '.'}")


def _checked(name: str, text: str) -> str:
    if not name or "/" in name:
        raise errors.SettingsError(f"invalid job name {text!r}: expected NAME or KIND/NAME, such as pytorchjob/mnist")
    return name


async def find(reader: port.Reader, namespace: str, text: str) -> Found:
    named = parse(text)
    kinds = KINDS if named.kind is None else (named.kind,)
    answers = await asyncio.gather(*(_get(reader, kind, namespace, named.name) for kind in kinds))
    there = [Found(kind, raw) for kind, raw in zip(kinds, answers, strict=True) if raw is not None]
    if len(there) == 1:
        return there[0]
    if there:
        choices = " or ".join(f"{found.kind.singular}/{named.name}" for found in there)
        raise errors.SettingsError(f'{len(there)} jobs are named "{named.name}" in namespace "{namespace}". Use {choices}.')
    raise errors.NoJob(await _absence(reader, namespace, named))


async def _get(reader: port.Reader, kind: JobKind, namespace: str, name: str) -> bytes | None:
    try:
        return await reader.get(kind.resource, namespace, name)
    except errors.NotFound:
        return None


async def names(reader: port.Reader, namespace: str | None, kinds: tuple[JobKind, ...] = KINDS) -> list[tuple[JobKind, bytes]]:
    """Every job, kind by kind; a kind whose definition is not installed has none."""
    listed = await asyncio.gather(*(_listed(reader, kind, namespace) for kind in kinds))
    if all(each is None for each in listed):
        raise errors.SettingsError("the cluster has no CRDs of training jobs. Run `kubectl apply -k manifests` to install them.")
    return [(kind, raw) for kind, each in zip(kinds, listed, strict=True) for raw in each or ()]


async def _listed(reader: port.Reader, kind: JobKind, namespace: str | None) -> list[bytes] | None:
    try:
        return [item async for page in reader.pages(kind.resource, namespace) for item in page.items]
    except errors.NotFound:
        return None


async def _absence(reader: port.Reader, namespace: str, named: Named) -> str:
    import msgspec

    everywhere = [(kind, msgspec.json.decode(raw)["metadata"]) for kind, raw in await names(reader, None)]
    wanted = named.kind.singular if named.kind else "job"
    told = f'{wanted} "{named.name}" not found in namespace "{namespace}"'
    same = [(kind, meta["namespace"]) for kind, meta in everywhere if meta["name"] == named.name]
    for kind, place in sorted(same, key=lambda each: each[1] != namespace):
        if place == namespace:
            return f"{told}. Did you mean {kind.singular}/{named.name}?"
        return f'{told}. {kind.singular}/{named.name} exists in namespace "{place}": add -n {place}.'
    near = suggestions.did_you_mean(named.name, [meta["name"] for _, meta in everywhere if meta["namespace"] == namespace])
    return told + (near or ". Run `traincrew ls -A` to list all jobs.")
