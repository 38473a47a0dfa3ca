"""Parses manifests: their objects in order, and all errors. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from traincrew.apimachinery import yaml_documents
from traincrew.kinds.kind import JobKind
from traincrew.validation import job_review, manifest_review


@dataclasses.dataclass(frozen=True)
class ManifestObject:
    """An object to create."""

    document: dict[str, Any]
    location: str
    """`file:line`."""
    job: JobKind | None

    @property
    def name(self) -> str:
        meta = self.document.get("metadata") or {}
        return str(meta.get("name") or f"{meta.get('generateName', '')}…")

    def __str__(self) -> str:
        return f"{self.document['kind'].lower()}/{self.name}"


@dataclasses.dataclass(frozen=True)
class ParsedManifests:
    objects: tuple[ManifestObject, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def parse(texts: dict[str, str]) -> ParsedManifests:
    """texts: by file name. The objects must not be used if there are errors."""
    objects: list[ManifestObject] = []
    findings: dict[str, list[str]] = {"error": [], "warning": []}
    for file, text in texts.items():
        for finding in manifest_review.review(text).findings:
            mark = "warning: " if finding.level == "warning" else ""
            findings[finding.level].append(f"{file}:{finding.line}: {mark}{finding}")
        objects += _objects(file, text)
    if not findings["error"]:
        findings["error"] += _name_errors(objects)
    return ParsedManifests(tuple(objects), tuple(findings["error"]), tuple(findings["warning"]))


def _objects(file: str, text: str) -> Iterator[ManifestObject]:
    for document in yaml_documents.parse(text):
        if isinstance(document, yaml_documents.Document):
            for part in manifest_review.objects(document):
                if isinstance(part.value, dict) and isinstance(part.value.get("kind"), str):
                    job = job_review.find_kind(str(part.value.get("apiVersion")), part.value["kind"])
                    yield ManifestObject(part.value, f"{file}:{part.first_line}", job)


def _name_errors(objects: list[ManifestObject]) -> Iterator[str]:
    first_locations: dict[tuple[str, ...], str] = {}
    for each in objects:
        meta = each.document.get("metadata")
        if not isinstance(meta, dict) or not (meta.get("name") or meta.get("generateName")):
            yield f"{each.location}: metadata.name: required"
            continue
        key = (each.document["apiVersion"], each.document["kind"], str(meta.get("namespace", "")), each.name)
        if meta.get("name") and first_locations.setdefault(key, each.location) != each.location:
            yield f"{each.location}: metadata.name: {each} is a duplicate of {first_locations[key]}"
