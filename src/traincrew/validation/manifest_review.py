"""Reviews a text of manifests: the findings of all objects in it, with their lines."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Literal

from traincrew.apimachinery import suggestions, yaml_documents
from traincrew.apimachinery.findings import ManifestFinding, Value, render
from traincrew.kinds import KINDS, lookup
from traincrew.model import jobs
from traincrew.validation import crds, job_review

Level = Literal["error", "warning"]


@dataclasses.dataclass(frozen=True)
class LocatedFinding:
    """A finding with its line."""

    line: int
    path: str
    message: str
    level: Level = "error"

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@dataclasses.dataclass(frozen=True)
class Review:
    findings: tuple[LocatedFinding, ...]
    jobs: int
    others: int
    """Objects of other kinds. They are not validated."""


def review(text: str) -> Review:
    all_findings: list[LocatedFinding] = []
    count = others = 0
    for document in yaml_documents.parse(text):
        if isinstance(document, yaml_documents.YAMLSyntaxError):
            all_findings.append(LocatedFinding(document.line, "", f"column {document.column}: {document.message}"))
            continue
        all_findings += _located(document, document.problems, "error")
        for part in objects(document):
            located, is_job = _review_object(part)
            all_findings += located
            count, others = count + is_job, others + (not is_job and not located)
    if not all_findings and not count and not others:
        all_findings.append(LocatedFinding(1, "", "contains no object"))
    return Review(tuple(sorted(all_findings, key=lambda finding: (finding.line, finding.path))), count, others)


def objects(document: yaml_documents.Document) -> Iterator[yaml_documents.Document]:
    """The document itself, or the items if it is a List."""
    value = document.value
    if isinstance(value, dict) and isinstance(value.get("items"), list) and str(value.get("kind")).endswith("List"):
        for index in range(len(value["items"])):
            yield from objects(document.part(("items", index)))
    else:
        yield document


def _review_object(document: yaml_documents.Document) -> tuple[list[LocatedFinding], bool]:
    fault = _identify(document.value)
    if fault is not None:
        return _located(document, [fault], "error"), False
    if job_review.find_kind(document.value["apiVersion"], document.value["kind"]) is None:
        return [], False
    result = job_review.review(document.value)
    errors = _located(document, (*result.errors, *result.unknown, *result.faults), "error")
    return errors + _located(document, result.warnings, "warning"), True


def _located(document: yaml_documents.Document, reported: Iterable[ManifestFinding], level: Level) -> list[LocatedFinding]:
    return [LocatedFinding(document.line(one.path), render(one.path), one.message, level) for one in reported]


def _identify(value: Value) -> ManifestFinding | None:
    """Why the value is not an object, or is probably meant to be one of our kinds."""
    if not isinstance(value, dict):
        return ManifestFinding((), "is not an object: expected a mapping with apiVersion, kind and metadata")
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field), str) or not value[field]:
            return ManifestFinding((field,), "is required and must be a string")
    return _similar_kind(value["apiVersion"], value["kind"])


def _similar_kind(api_version: str, name: str) -> ManifestFinding | None:
    group, _, version = api_version.rpartition("/")
    known = {kind.kind: kind for kind in KINDS}
    if name in known:
        served = [f"{jobs.GROUP}/{served}" for served in crds.versions(known[name])]
        if api_version in served:
            return None
        return ManifestFinding(("apiVersion",), f"{api_version!r} is not served for {name}, must be {' or '.join(served)}")
    meant = suggestions.nearest(name, known)
    if group == jobs.GROUP and meant and version in crds.versions(known[meant]):
        return ManifestFinding(("kind",), lookup.unknown_kind(name))
    return None
