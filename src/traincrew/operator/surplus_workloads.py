"""The Workloads by which Kueue admits workers on idle capacity, one for each worker.

Kueue deletes Workloads of a job that do not match it. So they belong to a ConfigMap of the job, and are deleted with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.client.informer import Informer, Scope
from traincrew.client.store import InformerStore
from traincrew.kinds import elasticity
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, naming, resources
from traincrew.model.meta import Meta, Struct
from traincrew.model.workloads import QUEUE_NAME, WORKLOADS, Workload
from traincrew.model.workloads import decode as workload_decoder
from traincrew.operator import sharing_snapshot
from traincrew.operator.job_key import JobQueueKey
from traincrew.operator.sharing_snapshot import QueueAdmission
from traincrew.sharing.cluster_snapshot import QueuedWorkload

log = logging.getLogger(__name__)

JOB_UID = "traincrew.kubeflow.org/job-uid"
INDEX = naming.REPLICA_INDEX


class _ConfigMap(Struct):
    metadata: Meta


class WorkloadKey(NamedTuple):
    job_uid: str
    worker: int


class AdmittedJob(NamedTuple):
    """A job whose workers on idle capacity Kueue admits."""

    kind: JobKind
    stored: jobs.JobObject[Any]
    requested: frozenset[int]
    """Workers for which there is to be a Workload."""
    existing: frozenset[int]
    """Workers that have pods."""


def needs_admission(job: jobs.JobObject[Any]) -> bool:
    """Whether Kueue admits the workers of the job on idle capacity."""
    return elasticity.mode(job) == elasticity.IDLE and bool(job.metadata.labels.get(QUEUE_NAME))


class SurplusWorkloads:
    """Watches and writes them. The watch begins with the first job that needs one."""

    def __init__(
        self, client: interfaces.Client, changed: Callable[[], None], surplus_class: str, priority: Callable[[], int]
    ) -> None:
        """surplus_class: the name of a PriorityClass. priority: its value."""
        self._client, self._changed, self._surplus_class, self._priority = client, changed, surplus_class, priority
        store: InformerStore[Workload] = InformerStore(workload_decoder.decode, lambda _old, _new: changed())
        self._informer = Informer(client, Scope(WORKLOADS, labels=naming.SURPLUS), store)
        self._informer.on_failure = changed
        self._task: asyncio.Task[None] | None = None
        self._failures: dict[WorkloadKey, str] = {}
        """Why a Workload could not be created."""

    @property
    def synced(self) -> bool:
        """Whether the Workloads are known, or no job has needed one."""
        return self._task is None or self._informer.synced.is_set() or self._informer.failure is not None

    def watch(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informer.run())
            await self._informer.synced.wait()
            self._changed()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def _error(self) -> str:
        """Why no worker can be admitted."""
        failure = self._informer.failure
        if isinstance(failure, errors.Forbidden):
            return "the operator may not read Workloads of Kueue"
        if isinstance(failure, errors.NotFound) and not self._informer.served:
            return "this cluster has no Kueue"
        return ""

    def admission(self, stored: jobs.JobObject[Any]) -> QueueAdmission:
        uid = stored.metadata.uid
        failed = {key.worker: QueuedWorkload(message=text) for key, text in self._failures.items() if key.job_uid == uid}
        return QueueAdmission(failed | self.of(uid), self._error())

    def of(self, uid: str) -> dict[int, QueuedWorkload]:
        """The Workloads of a job, by index of the worker."""
        return {key.worker: _queued(workload) for key, workload in self._keyed() if key.job_uid == uid}

    def _keyed(self) -> Iterator[tuple[WorkloadKey, Workload]]:
        for each in self._informer.store:
            labels = each.metadata.labels
            if labels.get(INDEX, "").isdecimal() and each.metadata.deletion_timestamp is None:
                yield WorkloadKey(labels.get(JOB_UID, ""), int(labels[INDEX])), each

    async def write(self, admitted: Iterable[AdmittedJob]) -> None:
        """Creates the Workloads that are requested, and deletes those of workers that are gone."""
        used: set[WorkloadKey] = set()
        for job in admitted:
            await self._request(job)
            used |= {WorkloadKey(job.stored.metadata.uid, index) for index in job.requested | job.existing}
        for meta in [workload.metadata for key, workload in self._keyed() if key not in used]:
            try:
                await self._client.delete(WORKLOADS, meta.namespace, meta.name, uid=meta.uid)
                log.info("workload deleted", extra={"workload": f"{meta.namespace}/{meta.name}"})
            except (errors.NotFound, errors.Conflict):
                pass

    async def _request(self, job: AdmittedJob) -> None:
        uid = job.stored.metadata.uid
        missing = [WorkloadKey(uid, index) for index in sorted(job.requested - self.of(uid).keys())]
        self._failures = {key: text for key, text in self._failures.items() if key.job_uid != uid or key in missing}
        for key in missing:
            try:
                await self._create(job.kind, job.stored, key)
                self._failures.pop(key, None)
            except (errors.Forbidden, errors.Rejected, errors.AlreadyExists) as error:
                self._failures[key] = f"Kueue cannot be asked for one more worker: {error}"

    async def _create(self, kind: JobKind, stored: jobs.JobObject[Any], key: WorkloadKey) -> None:
        body = msgspec.json.encode(self._workload(kind, stored, key.worker, await self._owner(kind, stored)))
        created = await self._client.create(WORKLOADS, stored.metadata.namespace, body)
        self._informer.store.observe(workload_decoder.decode(created))
        log.info("workload created", extra={"job": f"{stored.metadata.namespace}/{stored.metadata.name}", "worker": key.worker})

    @property
    def failed(self) -> bool:
        """Whether a Workload must be created again."""
        return bool(self._failures)

    async def _owner(self, kind: JobKind, stored: jobs.JobObject[Any]) -> Mapping[str, object]:
        """The owner reference to the ConfigMap of the job."""
        meta = stored.metadata
        name = f"{meta.name}-surplus"
        reference = {
            "apiVersion": f"kubeflow.org/{kind.following(stored).version}",
            "kind": kind.kind,
            "name": meta.name,
            "uid": meta.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": [reference]}}
        try:
            raw = await self._client.create(resources.CONFIG_MAPS, meta.namespace, msgspec.json.encode(body))
        except errors.AlreadyExists:
            raw = await self._client.get(resources.CONFIG_MAPS, meta.namespace, name)
        found = msgspec.json.decode(raw, type=_ConfigMap)
        if found.metadata.controller is None or found.metadata.controller.uid != meta.uid:
            raise errors.AlreadyExists(f"ConfigMap {name} exists and does not belong to the job: delete or rename it")
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": found.metadata.uid}

    def _workload(self, kind: JobKind, stored: jobs.JobObject[Any], index: int, owner: Mapping[str, object]) -> dict[str, object]:
        meta = stored.metadata
        kind = kind.following(stored)
        pod = sharing_snapshot.pod_manifest(kind, kind.job(stored), elasticity.ROLE)
        labels = {naming.SURPLUS: "true", JOB_UID: meta.uid, INDEX: str(index)}
        template = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}
        spec = {
            "queueName": meta.annotations.get(naming.SURPLUS_QUEUE) or meta.labels.get(QUEUE_NAME, ""),
            "priorityClassName": self._surplus_class,
            "priorityClassSource": "scheduling.k8s.io/priorityclass",
            "priority": self._priority(),
            "podSets": [{"name": "main", "count": 1, "template": template}],
        }
        metadata = {"name": f"{meta.name}-surplus-{index}", "labels": labels, "ownerReferences": [dict(owner)]}
        return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": metadata, "spec": spec}


def _queued(workload: Workload) -> QueuedWorkload:
    name = f"Workload {workload.metadata.name}"
    if not workload.spec.active:
        return QueuedWorkload(message=f"{name} is deactivated")
    return QueuedWorkload(workload.admitted, f"{name}: {workload.pending_message or 'waits for admission'}")


class FinishedJobs:
    """Finished jobs of which Workloads may be left, after a crash of the operator for example."""

    def __init__(self) -> None:
        self.uids: dict[JobQueueKey, str] = {}
        self._clean: dict[JobQueueKey, str] = {}
        """The UIDs of those that have no Workload."""

    def job_changed(self, key: JobQueueKey, job: jobs.JobObject[Any] | None) -> bool:
        """Whether Workloads of the job may be left. None: the job is deleted."""
        if job is None:
            self._clean.pop(key, None)
            return False
        left = job.status.finished and needs_admission(job) and self._clean.get(key) != job.metadata.uid
        if left:
            self.uids[key] = job.metadata.uid
        return left

    def check(self, workloads: SurplusWorkloads) -> None:
        """Forget those that have no Workload."""
        for key, uid in list(self.uids.items()):
            if not workloads.of(uid):
                self._clean[key] = self.uids.pop(key)
