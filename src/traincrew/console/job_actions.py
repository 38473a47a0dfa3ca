"""Changes jobs: suspend, resume, scale, run again, delete."""

from __future__ import annotations

import msgspec

from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.console import job_reader
from traincrew.console.contract import requests
from traincrew.console.contract.job_detail import ActionName
from traincrew.console.job_reader import JobAddress, ReadJob
from traincrew.console.view import job_details, problems, reruns
from traincrew.inspection import scaling_limits

ATTEMPTS = 5
"""Names that are tried for a job that runs again, while others take them."""


def _result(job: JobAddress, message: str) -> requests.ActionResult:
    return requests.ActionResult(message=message, namespace=job.namespace, kind=job.kind.singular, name=job.name)


def _require(found: ReadJob, action: ActionName) -> None:
    if reason := job_details.objection(found.observed, action):
        raise problems.problem("NotPossible", 409, f"{action} {found.observed.reference}", reason)


async def set_suspended(client: RemoteClient, job: JobAddress, suspended: bool) -> requests.ActionResult:
    found = await job_reader.read(client, job)
    _require(found, "suspend" if suspended else "resume")
    await client.patch(
        job.kind.resource, job.namespace, job.name, msgspec.json.encode({"spec": {"runPolicy": {"suspend": suspended}}})
    )
    return _result(job, f"{job.reference} {'suspended' if suspended else 'resumed'}")


async def scale(client: RemoteClient, job: JobAddress, wanted: requests.Scale) -> requests.ActionResult:
    found = await job_reader.read(client, job)
    _require(found, "scale")
    if wanted.replicas < 0:
        raise errors.SettingsError(f"replicas: {wanted.replicas} is negative")
    if not wanted.force and (objection := scaling_limits.objection(found.observed, wanted.replicas)):
        raise problems.problem(
            "NotPossible",
            409,
            f"scale {job.reference} to {wanted.replicas} workers",
            f"{job.reference} {objection}",
            "Suspend the job, scale it, and resume it; or scale it by force.",
        )
    patch = scaling_limits.patch(job.kind, found.raw, found.observed, wanted.replicas)
    await client.patch(job.kind.resource, job.namespace, job.name, patch.body, subresource=patch.subresource)
    before = found.observed.job.requested(scaling_limits.ROLE)
    return _result(job, f"{job.reference} scaled from {before} to {wanted.replicas} workers")


async def rerun(client: RemoteClient, job: JobAddress, wanted: requests.Rerun) -> requests.ActionResult:
    document = reruns.manifest(await job_reader.read_document(client, job))
    taken = set[str]()
    for _ in range(ATTEMPTS):
        name = wanted.name or reruns.next_name(job.name, taken)
        body = msgspec.json.encode(reruns.renamed(document, name))
        version = str(document["apiVersion"]).rpartition("/")[2]
        try:
            await client.create(job.kind.resource._replace(version=version), job.namespace, body, strict=True)
        except errors.AlreadyExists as error:
            if wanted.name and not error.uncertain:
                raise
            taken |= await _names(client, job)
            continue
        return _result(job._replace(name=name), f"{job.kind.singular}/{name} created")
    raise errors.Conflict(f"no free name for another run of {job.reference}")


async def _names(client: RemoteClient, job: JobAddress) -> set[str]:
    return {
        str(msgspec.json.decode(item)["metadata"]["name"])
        async for page in client.pages(job.kind.resource, job.namespace)
        for item in page.items
    }


async def delete(client: RemoteClient, job: JobAddress, wanted: requests.Delete) -> requests.ActionResult:
    await client.delete(job.kind.resource, job.namespace, job.name, uid=wanted.uid, propagation="Background")
    return _result(job, f"{job.reference} deleted")
