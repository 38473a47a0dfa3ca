"""Replicas and their pods, built from the manifest of a job."""

from __future__ import annotations

from typing import Any

from tests.planner import manifests

from traincrew import settings
from traincrew.kinds import job_decoding, pod_templates
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Replica
from traincrew.model import jobs

Manifest = dict[str, Any]


def defaulted(manifest: Manifest) -> tuple[JobKind, jobs.Job]:
    kind = manifests.BY_NAME[manifest["kind"]]
    stored = job_decoding.decode(kind, manifests.encoded(manifest))
    kind = kind.following(stored)
    return kind, kind.job(stored)


def built(manifest: Manifest, role: str, index: int = 0, **planning: Any) -> Manifest:
    """The pod of one replica."""
    kind, job = defaulted(manifest)
    return pod_templates.build(kind, replica(kind, job, role, index, **planning))


def replica(kind: JobKind, job: jobs.Job, role: str, index: int = 0, **planning: Any) -> Replica:
    found = kind.role(role)
    assert found is not None
    return Replica(job, found, index, settings.Planning(**planning))


def env(pod: Manifest, container: int = 0) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in pod["spec"]["containers"][container].get("env", [])}


def names(pod: Manifest, container: int = 0) -> list[str]:
    return [entry["name"] for entry in pod["spec"]["containers"][container].get("env", [])]
