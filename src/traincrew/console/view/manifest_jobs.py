"""The jobs of a manifest."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from traincrew import errors
from traincrew.apimachinery import yaml_documents
from traincrew.kinds import job_decoding
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs
from traincrew.validation import job_review, manifest_review


class ManifestJob(NamedTuple):
    kind: JobKind
    """The variant of the API version of the manifest."""
    job: jobs.Job
    line: int
    """0: the job does not come from a manifest."""


def parse(text: str) -> list[ManifestJob]:
    """Raise ManifestError if the manifest has faults."""
    faults = [each for each in manifest_review.review(text).findings if each.level == "error"]
    if faults:
        raise errors.ManifestError(f"line {faults[0].line}: {faults[0].path}: {faults[0].message}")
    documents = [each for each in yaml_documents.parse(text) if not isinstance(each, yaml_documents.YAMLSyntaxError)]
    parts = [part for document in documents for part in manifest_review.objects(document)]
    found = [(job_review.find_kind(str(part.value["apiVersion"]), str(part.value["kind"])), part) for part in parts]
    return [of_document(kind, part.value, part.first_line) for kind, part in found if kind is not None]


def of_document(kind: JobKind, document: dict[str, Any], line: int = 0) -> ManifestJob:
    version = str(document["apiVersion"]).rpartition("/")[2]
    handler = kind.variants.get(version, kind)
    stored, _ = job_decoding.decode_stored(kind, msgspec.json.encode(document))
    return ManifestJob(handler, handler.job(stored), line)
