"""Creates the objects of a manifest, or asks the API server whether it would: faults come with field and line."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import msgspec

from traincrew import errors
from traincrew.apimachinery import findings, yaml_documents
from traincrew.client.remote import RemoteClient
from traincrew.console.contract.problems import ApiError, FieldError
from traincrew.console.contract.requests import SubmitResult, SubmittedObject
from traincrew.console.view.problems import Problem, missing_right
from traincrew.inspection.rest_mapping import RestMapping
from traincrew.model.resources import Resource
from traincrew.validation import job_review, manifest_review


class _Wanted(NamedTuple):
    document: yaml_documents.Document
    resource: Resource
    namespace: str | None
    kind: str

    @property
    def reference(self) -> str:
        return f"{self.resource.kind.lower()}/{(self.document.value.get('metadata') or {}).get('name', '')}"


async def submit(client: RemoteClient, text: str, namespace: str, *, dry_run: bool) -> SubmitResult:
    """Nothing is created if one of the objects has faults. Raise Problem with all faults."""
    findings = [_field_error(each) for each in manifest_review.review(text).findings]
    tried = "check the manifest" if dry_run else "create the objects of the manifest"
    if any(each.level == "error" for each in findings):
        raise _invalid(tried, findings)
    wanted, faults = await _objects(client, text, namespace)
    faults += [fault for each in wanted for fault in await _dry_run(client, each)]
    if faults:
        raise _invalid(tried, [*faults, *findings])
    names = [_name(each) for each in wanted] if dry_run else await _create(client, wanted)
    objects = [_submitted(each, name) for each, name in zip(wanted, names, strict=True)]
    return SubmitResult(dry_run=dry_run, objects=objects, findings=findings)


def _field_error(finding: manifest_review.LocatedFinding) -> FieldError:
    return FieldError(path=finding.path, line=finding.line, message=finding.message, level=finding.level)


def _invalid(tried: str, fields: list[FieldError]) -> Problem:
    faults = [each for each in fields if each.level == "error"]
    first = f"{faults[0].path}: {faults[0].message}" if faults[0].path else faults[0].message
    message = first if len(faults) == 1 else f"{len(faults)} faults. The first: {first}"
    ordered = sorted(fields, key=lambda each: (each.line, each.path))
    rights = next((right for each in faults if (right := missing_right(each.message)) is not None), None)
    return Problem(
        ApiError(
            tried=tried,
            message=message,
            reason="Forbidden" if rights is not None else "Invalid",
            code=403 if rights is not None else 422,
            next_step="Correct the fields and try again." if rights is None else "Ask an administrator for the right.",
            fields=ordered,
            missing_right=rights,
        )
    )


async def _objects(client: RemoteClient, text: str, namespace: str) -> tuple[list[_Wanted], list[FieldError]]:
    mapping, found, faults = RestMapping(client), list[_Wanted](), list[FieldError]()
    for document in yaml_documents.parse(text):
        if isinstance(document, yaml_documents.YAMLSyntaxError):
            continue  # the review has reported it
        for part in manifest_review.objects(document):
            try:
                found.append(await _wanted(mapping, part, namespace))
            except errors.ManifestError as error:
                faults.append(FieldError(path="kind", line=part.line(("kind",)), message=str(error).partition(": ")[2]))
    return found, faults


async def _wanted(mapping: RestMapping, part: yaml_documents.Document, namespace: str) -> _Wanted:
    version, kind_name = str(part.value["apiVersion"]), str(part.value["kind"])
    job = job_review.find_kind(version, kind_name)
    if job is not None:
        resource = job.resource._replace(version=version.rpartition("/")[2])
    else:
        resource = await mapping.resource(version, kind_name, "manifest")
    given = (part.value.get("metadata") or {}).get("namespace")
    place = str(given or namespace) if resource.namespaced else None
    return _Wanted(part, resource, place, job.singular if job is not None else "")


async def _dry_run(client: RemoteClient, wanted: _Wanted) -> list[FieldError]:
    try:
        body = msgspec.json.encode(wanted.document.value)
        await client.create(wanted.resource, wanted.namespace, body, strict=True, dry_run=True)
    except (errors.TemporaryError, errors.Unauthorized):
        raise
    except errors.ApiError as error:
        return _faults(wanted.document, error)
    return []


def _faults(document: yaml_documents.Document, error: errors.ApiError) -> list[FieldError]:
    """The causes that the API server names, each at the line of its field."""
    causes = [cause for cause in error.causes if cause.field]
    if causes:
        return [_fault(document, cause.field, cause.message) for cause in causes]
    path = "metadata.name" if isinstance(error, errors.AlreadyExists) else ""
    path = "metadata.namespace" if isinstance(error, errors.NotFound) else path
    return [_fault(document, path, error.message)]


def _fault(document: yaml_documents.Document, path: str, message: str) -> FieldError:
    return FieldError(path=path, line=document.line(findings.parse(path)), message=message)


async def _create(client: RemoteClient, wanted: list[_Wanted]) -> list[str]:
    """If one cannot be created after all, those before it are deleted again."""
    created: list[tuple[_Wanted, str, str]] = []
    try:
        for each in wanted:
            raw = await client.create(each.resource, each.namespace, msgspec.json.encode(each.document.value), strict=True)
            meta = msgspec.json.decode(raw)["metadata"]
            created.append((each, str(meta["name"]), str(meta["uid"])))
    except errors.ApiError as error:
        for each, name, uid in reversed(created):
            with contextlib.suppress(errors.NotFound, errors.Conflict):
                await client.delete(each.resource, each.namespace, name, uid=uid, propagation="Background")
        failed = wanted[len(created)]
        if isinstance(error, errors.TemporaryError | errors.Unauthorized):
            raise
        raise _invalid(f"create {failed.reference}", _faults(failed.document, error)) from error
    return [name for _, name, _ in created]


def _name(wanted: _Wanted) -> str:
    meta = wanted.document.value.get("metadata") or {}
    return str(meta.get("name") or f"{meta.get('generateName', '')}…")


def _submitted(wanted: _Wanted, name: str) -> SubmittedObject:
    return SubmittedObject(
        api_version=wanted.resource.api_version,
        kind_name=wanted.resource.kind,
        namespace=wanted.namespace or "",
        name=name,
        kind=wanted.kind,
        line=wanted.document.first_line,
    )
