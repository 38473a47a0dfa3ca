"""The verdict on a posted job: what the API server refuses, what the operator would then tell on the job, and advice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from traincrew.admission import objectmeta, schema, structural, suggestions, validation
from traincrew.admission.findings import Finding, Path, Value, parse, render
from traincrew.kinds import KINDS, advice, rules
from traincrew.kinds.kind import Fault, JobKind, Manifest, decode
from traincrew.model import jobs


@dataclasses.dataclass(frozen=True)
class Admitted:
    kind: JobKind
    document: Manifest
    """The object as the API server stores it: unknown fields dropped, defaults filled in."""
    stored: jobs.Stored[Any] | None
    """The object decoded; None where it is refused."""
    errors: tuple[Finding, ...] = ()
    """What the API server refuses."""
    unknown: tuple[Finding, ...] = ()
    """Fields that the API server drops with a warning, or refuses where the client asks it to be strict, as kubectl does."""
    faults: tuple[Finding, ...] = ()
    """What makes a job fail as soon as the operator sees it, though the API server accepts it."""
    warnings: tuple[Finding, ...] = ()

    @property
    def accepted(self) -> bool:
        return not self.errors


def find_kind(api_version: str, kind: str) -> JobKind | None:
    """The kind that is served under this version and name."""
    group, _, version = api_version.rpartition("/")
    return next((k for k in KINDS if group == jobs.GROUP and k.kind == kind and version in schema.versions(k)), None)


def admit(document: Manifest) -> Admitted:
    """The verdict on creating a job. The document must name a kind that is served (`find_kind`)."""
    kind = find_kind(document["apiVersion"], document["kind"])
    if kind is None:
        raise ValueError(f"{document['apiVersion']} {document['kind']} is not served")
    node = schema.openapi(kind.plural, document["apiVersion"].rpartition("/")[2])
    strays = _strays(document, node)
    stored, errors = _understand(document, node)
    errors += _beyond(errors, (*_scale_faults(kind, stored), *_count_faults(kind, stored)))
    job, faults = _judge(kind, _mended(kind, stored, errors))
    errors += _beyond(errors, (_finding(fault) for fault in faults if fault.server))
    errors += _beyond(errors, objectmeta.check(stored["metadata"]) if not _under(errors, "metadata") else ())
    return Admitted(
        kind=kind,
        document=stored,
        stored=None if errors else job,
        errors=tuple(errors),
        unknown=tuple(Finding(stray.path, suggestions.tell(stray)) for stray in strays if not stray.kept),
        faults=tuple(_beyond(errors, (_finding(fault) for fault in faults if not fault.server))),
        warnings=(*_template_strays(strays), *_advice(kind, job)),
    )


def admit_update(old: Manifest, new: Manifest) -> Admitted:
    """The verdict on changing a job; `old` is the object as it is stored."""
    found = admit(new)
    errors = [*found.errors, *_immutable(old, found.document)]
    return dataclasses.replace(found, errors=tuple(errors), stored=None if errors else found.stored)


def _strays(document: Manifest, node: structural.Schema) -> list[structural.Unknown]:
    body = {key: value for key, value in document.items() if key != "metadata"}
    found = [*structural.unknown(body, node)]
    if isinstance(document.get("metadata"), dict):
        found += structural.unknown(document["metadata"], objectmeta.SCHEMA, ("metadata",))
    return found


def _understand(document: Manifest, node: structural.Schema) -> tuple[Manifest, list[Finding]]:
    """The object as it is stored, and what is wrong with its form."""
    body = _numbers(document)
    meta, errors = objectmeta.read(body.pop("metadata", None))
    body.pop("status", None)  # a new object cannot bring a status
    structural.prune(body, node)
    structural.drop_nulls(body, node)
    structural.default(body, node)
    errors += validation.check(body, node)
    return {"apiVersion": body.pop("apiVersion"), "kind": body.pop("kind"), "metadata": meta, **body}, errors


def _numbers(value: Value) -> Value:
    """A copy in which integers beyond 64 bits have become floats, as they do in the API server."""
    if isinstance(value, dict):
        return {key: _numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_numbers(inner) for inner in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def _scale_faults(kind: JobKind, stored: Manifest) -> Iterator[Finding]:
    """The number behind /scale is checked apart from the schema, and more strictly."""
    if not kind.scalable:
        return
    path = tuple(schema.scale(kind)["specReplicasPath"].split(".")[1:])
    value: Value = stored
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return
        value = value[key]
    if isinstance(value, float):
        yield Finding(path, f"must be an integer, got {value!r}")
    elif isinstance(value, int) and not 0 <= value < 2**31:
        yield Finding(path, f"must be between 0 and {2**31 - 1}, got {value}")


def _count_faults(kind: JobKind, stored: Manifest) -> Iterator[Finding]:
    roles = {rule.counts for rule in rules.cel(kind)} - {""}
    replicas = _at(stored, ("spec", kind.replicas_field))
    for key, entry in replicas.items() if isinstance(replicas, dict) else ():
        role = kind.role(key)
        count = entry.get("replicas") if isinstance(entry, dict) else None
        if role is not None and role.name in roles and isinstance(count, float):
            yield Finding(("spec", kind.replicas_field, key, "replicas"), f"must be an integer, got {count!r}")


def _mended(kind: JobKind, stored: Manifest, errors: list[Finding]) -> Manifest:
    """The object without what is wrong in its form, so that everything else about it can be told in the same breath."""
    if not errors:
        return stored
    mended: Manifest = _numbers(stored)
    for error in errors:
        if error.path[:2] == ("spec", kind.replicas_field) and error.path[3:4] == ("template",):
            mended["spec"][kind.replicas_field][error.path[2]]["template"] = _stand_in(kind)
        else:
            _cut(mended, error.path)
    return mended


def _stand_in(kind: JobKind) -> Manifest:
    return {"spec": {"containers": [{"name": kind.container, "image": "unknown"}]}}


def _cut(value: Value, path: Path) -> None:
    for depth, key in enumerate(path):
        last = depth + 1 == len(path) or isinstance(path[depth + 1], int)
        if not isinstance(value, dict) or key not in value:
            return
        if last:
            del value[key]
            return
        value = value[key]


def _judge(kind: JobKind, stored: Manifest) -> tuple[jobs.Stored[Any] | None, list[Fault]]:
    named = {**stored, "metadata": {**stored.get("metadata", {}), "name": objectmeta.generated_name(stored.get("metadata", {}))}}
    try:
        job = decode(kind, msgspec.json.encode(named))
    except msgspec.ValidationError:
        return None, []  # there is no spec, which has been told
    follows = kind.following(job)
    return job, rules.faults(follows, follows.job(job))


def _finding(fault: Fault) -> Finding:
    return Finding(parse(fault.path), fault.message)


def _beyond(told: list[Finding], more: Iterable[Finding]) -> list[Finding]:
    """Those of the findings that are not just another word for one told before: about the same place, or about its inside."""
    paths = {finding.path for finding in told}
    return [found for found in more if not any(found.path[: len(path)] == path for path in paths)]


def _under(errors: list[Finding], key: str) -> bool:
    return any(error.path[:1] == (key,) for error in errors)


def _template_strays(strays: list[structural.Unknown]) -> Iterator[Finding]:
    for stray in strays:
        if stray.kept and not _is_metadata(stray.path):
            yield Finding(stray.path, f"{suggestions.tell(stray)} (kept; the pod will be refused if Kubernetes does not know it)")


def _is_metadata(path: Path) -> bool:
    """Fields of ObjectMeta that a template may have, though no pod gets them; generators of YAML write some as null."""
    return path[-2:-1] == ("metadata",) and path[-1] in objectmeta.SCHEMA["properties"]


def _advice(kind: JobKind, job: jobs.Stored[Any] | None) -> list[Finding]:
    if job is None:
        return []
    follows = kind.following(job)
    return [_finding(fault) for fault in advice.advice(follows, follows.job(job))]


_FIXED: tuple[tuple[Path, str], ...] = (
    (("metadata", "name"), "field is immutable"),
    (("metadata", "namespace"), "field is immutable"),
    (("metadata", "uid"), "field is immutable"),
    (("spec", "runPolicy", "managedBy"), "field is immutable"),
)


def _immutable(old: Manifest, new: Manifest) -> Iterator[Finding]:
    for path, message in _FIXED:
        if _at(old, path) != _at(new, path):
            yield Finding(path, message)
    queue = ("spec", "runPolicy", "schedulingPolicy", "queue")
    before, after = _at(old, queue), _at(new, queue)
    if before is not None and after is not None and before != after:  # it may be added and removed
        yield Finding(queue, f"{render(queue)} is immutable")


def _at(value: Value, path: Path) -> Value:
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(str(key))
    return value
