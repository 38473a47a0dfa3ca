"""The environment variables that the operator will give each replica of a job, from its manifest."""

from __future__ import annotations

import msgspec

from traincrew import errors, settings
from traincrew.apimachinery import yaml_documents
from traincrew.console.contract.passport import JobPassport, Passports, ReplicaPassport
from traincrew.console.view import pod_details
from traincrew.inspection import observed_job
from traincrew.kinds import kind as job_kind
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Replica, env_vars
from traincrew.validation import job_review, manifest_review

MAX_REPLICAS = 256


def of_manifest(text: str) -> Passports:
    """Raise ManifestError if the manifest has faults."""
    faults = [each for each in manifest_review.review(text).remarks if each.level == "error"]
    if faults:
        raise errors.ManifestError(f"line {faults[0].line}: {faults[0].path}: {faults[0].message}")
    documents = [each for each in yaml_documents.parse(text) if not isinstance(each, yaml_documents.YAMLSyntaxError)]
    parts = [part for document in documents for part in manifest_review.objects(document)]
    found = [(job_review.find_kind(str(part.value["apiVersion"]), str(part.value["kind"])), part) for part in parts]
    return Passports(jobs=[_passport(kind, part) for kind, part in found if kind is not None])


def _passport(kind: JobKind, part: yaml_documents.Document) -> JobPassport:
    version = str(part.value["apiVersion"]).rpartition("/")[2]
    handler = kind.variants.get(version, kind)
    stored, _ = job_kind.decode_stored(kind, msgspec.json.encode(part.value))
    job = handler.job(stored)
    replicas = [
        _replica(handler, Replica(job, role, index, settings.Planning()))
        for role in handler.roles
        for index in range(min(job.count(role.name), MAX_REPLICAS))
    ]
    return JobPassport(kind=kind.singular, name=job.name, line=part.first_line, replicas=replicas[:MAX_REPLICAS], total=job.total)


def _replica(kind: JobKind, replica: Replica) -> ReplicaPassport:
    variables = env_vars({**kind.pods.default_env(replica), **kind.pods.env(replica)})
    return ReplicaPassport(
        replica=observed_job.replica(replica.job.name, replica.name),
        role=replica.role.name,
        index=replica.index,
        env=[pod_details.variable(each) for each in variables],
    )
