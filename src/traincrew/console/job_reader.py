"""Reads one job, its pods, events and rights from the API server."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from traincrew import errors
from traincrew.client import clock
from traincrew.client.interfaces import LogReader
from traincrew.client.remote import RemoteClient
from traincrew.console.access import AccessReviews
from traincrew.console.contract.job_detail import JobDetail
from traincrew.console.stored_logs import StoredLogs
from traincrew.console.view import job_details
from traincrew.console.view import pods as shown_pods
from traincrew.console.view.job_summaries import Activity
from traincrew.inspection import evidence_query, observed_job
from traincrew.kinds import KINDS, lookup
from traincrew.kinds.kind import JobKind
from traincrew.model import resources


class JobAddress(NamedTuple):
    kind: JobKind
    namespace: str
    name: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind.singular, self.namespace, self.name

    @property
    def reference(self) -> str:
        return f"{self.kind.singular}/{self.name}"


class ReadJob(NamedTuple):
    observed: observed_job.ObservedJob
    pods: list[shown_pods.ShownPod]
    raw: bytes


def address(kind: str, namespace: str, name: str) -> JobAddress:
    """Raise NoJob if there is no such kind."""
    found = next((each for each in KINDS if each.singular == kind.lower()), None)
    if found is None:
        raise errors.NoJob(lookup.unknown_kind(kind))
    return JobAddress(found, namespace, name)


async def read(client: LogReader, job: JobAddress) -> ReadJob:
    raw = await client.get(job.kind.resource, job.namespace, job.name)
    labels = observed_job.selector(job.name)
    listed = [
        shown_pods.decode(item)
        async for page in client.pages(resources.PODS, job.namespace, labels=labels)
        for item in page.items
    ]
    own = [pod for pod in listed if observed_job.belongs(pod, job.kind, job.name)]
    return ReadJob(observed_job.observe(job.kind, raw, own), own, raw)


async def read_document(client: LogReader, job: JobAddress) -> dict[str, Any]:
    """The job in the API version whose behaviour it follows: its spec may mean something else in another one."""
    raw = await client.get(job.kind.resource, job.namespace, job.name)
    version = observed_job.observe(job.kind, raw).kind.version
    if version != job.kind.resource.version:
        raw = await client.get(job.kind.resource._replace(version=version), job.namespace, job.name)
    document: dict[str, Any] = msgspec.json.decode(raw)
    return document


class JobReader:
    def __init__(self, client: RemoteClient, activities: Mapping[tuple[str, str, str], Activity], stored: StoredLogs) -> None:
        """activities: what is known of running jobs, by key."""
        self._client, self._activities, self._stored_logs = client, activities, stored
        self._access = AccessReviews(client)

    async def detail(self, job: JobAddress) -> JobDetail:
        found = await read(self._client, job)
        log_root = await self._stored_logs.root(job.namespace)
        evidence, rights, may_exec = await asyncio.gather(
            evidence_query.read(self._client, found.observed, log_root),
            self._rights(job),
            self._access.allowed("create", resources.PODS, job.namespace, "exec"),
        )
        activity = self._activities.get(job.key, Activity())
        observed = dataclasses.replace(found.observed, hang=activity.hang)
        objects = job_details.JobObjects(job.kind, observed, found.pods, evidence, rights, may_exec, activity)
        return job_details.detail(objects, clock.now())

    async def _rights(self, job: JobAddress) -> frozenset[str]:
        verbs = sorted(set(job_details.RIGHTS.values()))
        allowed = await asyncio.gather(*(self._access.allowed(verb, job.kind.resource, job.namespace) for verb in verbs))
        return frozenset(verb for verb, may in zip(verbs, allowed, strict=True) if may)
