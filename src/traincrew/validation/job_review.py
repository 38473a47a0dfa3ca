"""Review of a job without a cluster: rejections by the API server, reports of the operator, and advice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from traincrew.apimachinery.findings import ManifestFinding, Path, Value, parse
from traincrew.apimachinery.structural import scalar_validation
from traincrew.apimachinery.structural.unknown_fields import UnknownField
from traincrew.kinds import KINDS, job_warnings, violations
from traincrew.kinds.job_decoding import decode
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Manifest
from traincrew.kinds.rule import Violation
from traincrew.model import jobs
from traincrew.validation import crds, object_decoding, object_meta


@dataclasses.dataclass(frozen=True)
class ReviewResult:
    kind: JobKind
    document: Manifest
    """The object as the API server stores it, pruned and defaulted."""
    stored: jobs.JobObject[Any] | None
    """The decoded object; None if it is rejected."""
    errors: tuple[ManifestFinding, ...] = ()
    """Reasons for which the API server rejects the object."""
    unknown: tuple[ManifestFinding, ...] = ()
    """Fields that the API server prunes with a warning, or rejects in strict field validation, which kubectl uses."""
    faults: tuple[ManifestFinding, ...] = ()
    """Mistakes that the API server accepts, and for which the operator fails the job at once."""
    warnings: tuple[ManifestFinding, ...] = ()
    """Values that are probably mistakes."""

    @property
    def accepted(self) -> bool:
        return not self.errors


def find_kind(api_version: str, kind: str) -> JobKind | None:
    """The kind that is served with this API version and name."""
    group, _, version = api_version.rpartition("/")
    return next((k for k in KINDS if group == jobs.GROUP and k.kind == kind and version in crds.versions(k)), None)


def review(document: Manifest) -> ReviewResult:
    """Reviews a new job. Its kind must be served (`find_kind`)."""
    kind = find_kind(document["apiVersion"], document["kind"])
    if kind is None:
        raise ValueError(f"{document['apiVersion']} {document['kind']} is not served")
    decoded = object_decoding.decode(kind, document)
    job, faults = _validate_job(kind, decoded.valid_part)
    errors = list(decoded.errors)
    errors += _unreported(decoded.errors, errors, (_finding(fault) for fault in faults if fault.server))
    errors += _unreported(decoded.errors, errors, object_meta.validate(decoded.valid_part.get("metadata", {})))
    failing = _unreported(decoded.errors, errors, (_finding(fault) for fault in faults if not fault.server))
    suspicious = (*_unsupported_fields(decoded.unknown), *_advise(kind, job))
    return ReviewResult(
        kind=kind,
        document=decoded.stored,
        stored=None if errors else job,
        errors=tuple(errors),
        unknown=tuple(ManifestFinding(field.path, field.message()) for field in decoded.unknown if not field.kept),
        faults=(*_misspelt_fields(decoded.unknown), *failing),
        warnings=tuple(_unreported(decoded.errors, [*errors, *failing], suspicious)),
    )


def _validate_job(kind: JobKind, document: Manifest) -> tuple[jobs.JobObject[Any] | None, list[Violation]]:
    if not isinstance(document.get("spec"), dict):
        return None, []  # the schema has reported it
    named = {**document, "metadata": object_meta.for_new_object(document.get("metadata", {}))}
    job = decode(kind, msgspec.json.encode(_with_integers(named)))
    follows = kind.following(job)
    return job, violations.of_job(follows, follows.job(job))


def _with_integers(value: Value) -> Value:
    """A copy in which floats that pass for integers are integers."""
    if isinstance(value, dict):
        return {key: _with_integers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_integers(inner) for inner in value]
    return int(value) if isinstance(value, float) and scalar_validation.is_integral(value) else value


def _finding(fault: Violation) -> ManifestFinding:
    return ManifestFinding(parse(fault.path), fault.message)


def _unreported(
    form_errors: Iterable[ManifestFinding], reported: Iterable[ManifestFinding], more: Iterable[ManifestFinding]
) -> list[ManifestFinding]:
    """The findings about paths that are not reported yet and are not inside an invalid part."""
    paths = {finding.path for finding in reported}
    broken = [finding.path for finding in form_errors]
    return [one for one in more if one.path not in paths and not any(one.path[: len(path)] == path for path in broken)]


def _misspelt_fields(unknown: Iterable[UnknownField]) -> Iterator[ManifestFinding]:
    """Unknown fields of a pod template that look like misspelt ones."""
    for field in unknown:
        if field.kept and not _is_metadata(field.path) and field.suggestion:
            yield ManifestFinding(field.path, field.message())


def _unsupported_fields(unknown: Iterable[UnknownField]) -> Iterator[ManifestFinding]:
    for field in unknown:
        if field.kept and not _is_metadata(field.path) and not field.suggestion:
            yield ManifestFinding(
                field.path, f"{field.message()}: the API server rejects the pods unless its version supports the field"
            )


def _is_metadata(path: Path) -> bool:
    """Fields of ObjectMeta. Pods do not get them from a template, but generators of YAML write some as null."""
    return path[-2:-1] == ("metadata",) and path[-1] in object_meta.SCHEMA["properties"]


def _advise(kind: JobKind, job: jobs.JobObject[Any] | None) -> list[ManifestFinding]:
    if job is None:
        return []
    follows = kind.following(job)
    return [_finding(fault) for fault in job_warnings.of_job(follows, follows.job(job))]
