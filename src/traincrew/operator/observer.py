"""The observer: one informer for each resource and namespace, and the observed state of a job assembled from their stores."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from traincrew import settings
from traincrew.client import interfaces
from traincrew.client.informer import Informer, Scope
from traincrew.client.store import InformerStore
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, meta, naming, resources
from traincrew.model.elastic_allocation import Allocation
from traincrew.model.observed import Observed, RejectedWrite
from traincrew.model.resources import Resource
from traincrew.operator import default_scaling, watched_resources
from traincrew.operator.create_backoff import ObjectName
from traincrew.operator.host_ports import PortAllocations
from traincrew.operator.job_key import JobQueueKey
from traincrew.operator.job_memory import JobMemory
from traincrew.operator.status_writers import StatusWriters
from traincrew.operator.unreadable_objects import Decode, UnreadableObjects

log = logging.getLogger(__name__)

NO_SHARING = Allocation(error="this operator does not choose numbers of workers: remove the annotation")


class ChangeHandler(Protocol):
    """Called for changes that the informers deliver, except those that this process has written."""

    def job_changed(self, key: JobQueueKey) -> None:
        """The job, or an object that belongs to it, has changed."""

    def object_added(self, key: JobQueueKey, resource: Resource, obj: meta.Named) -> None:
        """An object of the job was created by another process."""


class Observer:
    """Stores of the jobs and of all objects that belong to them."""

    def __init__(
        self,
        reader: interfaces.Reader,
        kinds: tuple[JobKind, ...],
        options: settings.Operator,
        handler: ChangeHandler,
        status_writers: StatusWriters,
    ) -> None:
        self.kinds = {kind.plural: kind for kind in kinds}
        self._plurals = {kind.kind: kind.plural for kind in kinds}
        self._controllers = {each.controller: kind.plural for kind in kinds for each in (kind, *kind.variants.values())}
        self._planning, self._scaling_default = options.planning, options.sharing.scaling_default
        self._handler = handler
        self._memories: dict[str, JobMemory] = {}
        self.ports = PortAllocations(handler.job_changed)
        self.allocations: Callable[[jobs.JobObject[Any]], Allocation | None] = lambda job: NO_SHARING
        """The allocation of a job with the annotation for it."""
        self.decision_failure: Callable[[], str] = lambda: ""
        """Why the operator cannot decide about allocations."""
        self.expected_capacity: Callable[[str], str] = lambda uid: ""
        """Which workers of elastic jobs are removed for the job with this UID."""
        self.on_rejection: Callable[[], None] = lambda: None
        """Called if the API server rejects an object of a job, with another message than before."""
        self._unreadable, self._status_writers = UnreadableObjects(), status_writers
        self.jobs: dict[str, InformerStore[Any]] = {
            kind.plural: InformerStore(
                self._unreadable.noting(kind.resource, self._job_decoder(kind)), self._job_changed(kind.plural)
            )
            for kind in kinds
        }
        self.objects: dict[Resource, InformerStore[Any]] = {
            resource: InformerStore(
                self._unreadable.noting(resource, watched_resources.object_decoder(watched_resources.TYPES[resource])),
                self._object_changed(resource),
            )
            for resource in watched_resources.watched(kinds, options.planning)
        }
        self.informers = [Informer(reader, scope, store) for scope, store in self._scopes(options.namespaces or (None,))]

    def _scopes(self, namespaces: tuple[str | None, ...]) -> Iterator[tuple[Scope, InformerStore[Any]]]:
        for namespace in namespaces:
            for kind in self.kinds.values():
                yield Scope(kind.resource, namespace), self.jobs[kind.plural]
            for resource, store in self.objects.items():
                yield Scope(resource, namespace, naming.WATCH_LABEL), store

    def _job_decoder(self, kind: JobKind) -> Decode:
        decode = default_scaling.applied(kind, watched_resources.job_decoder(kind), self._scaling_default)
        return self._status_writers.noting(kind, decode)

    def store(self, resource: Resource) -> InformerStore[Any] | None:
        """The store of a resource: of jobs or of objects that they own."""
        return self.objects[resource] if resource in self.objects else self.jobs.get(resource.plural)

    def stored(self, resource: Resource, namespace: str, name: str) -> Any:
        store = self.store(resource)
        return store.get(namespace, name) if store is not None else None

    def forget(self, uid: str) -> None:
        """The job is gone."""
        self._memories.pop(uid, None)
        self._unreadable.forget(uid)
        self._status_writers.forget(uid)
        self.ports.forget(uid)

    def memory(self, uid: str) -> JobMemory:
        return self._memories.setdefault(uid, JobMemory())

    def rejected_pods(self) -> dict[str, dict[str, RejectedWrite]]:
        """The pods that the API server rejected, by UID of the job and name of the pod."""
        found: dict[str, dict[str, RejectedWrite]] = {}
        for uid, memory in self._memories.items():
            for (resource, name), rejection in memory.rejections.items():
                if resource == resources.PODS and not rejection.foreign:
                    found.setdefault(uid, {})[name] = rejection
        return found

    def key(self, reference: str) -> JobQueueKey | None:
        """reference: kind, namespace and name, such as `PyTorchJob default/j`. None: it is not a job of an enabled kind."""
        kind, _, full_name = reference.partition(" ")
        namespace, _, name = full_name.partition("/")
        return JobQueueKey(self._plurals[kind], namespace, name) if kind in self._plurals else None

    def job(self, key: JobQueueKey) -> jobs.JobObject[Any] | None:
        job: jobs.JobObject[Any] | None = self.jobs[key.plural].get(key.namespace, key.name)
        return job

    def keys(self) -> list[JobQueueKey]:
        return [
            JobQueueKey(plural, job.metadata.namespace, job.metadata.name) for plural, store in self.jobs.items() for job in store
        ]

    async def synced(self) -> None:
        await asyncio.gather(*(informer.synced.wait() for informer in self.informers))

    def observe(self, job: jobs.JobObject[Any]) -> Observed:
        uid = job.metadata.uid
        memory = self._memories.get(uid) or JobMemory()
        launchers = self.owned(resources.BATCH_JOBS, uid)
        pods = self.owned(resources.PODS, uid)
        for launcher in launchers:
            pods += self.owned(resources.PODS, launcher.metadata.uid)
        groups = (resources.VOLCANO_POD_GROUPS, resources.PLUGINS_POD_GROUPS)
        observed = Observed(
            pods=pods,
            services=self.owned(resources.SERVICES, uid),
            config_maps=self.owned(resources.CONFIG_MAPS, uid),
            roles=self.owned(resources.ROLES, uid),
            role_bindings=self.owned(resources.ROLE_BINDINGS, uid),
            service_accounts=self.owned(resources.SERVICE_ACCOUNTS, uid),
            batch_jobs=launchers,
            autoscalers=self.owned(resources.AUTOSCALERS, uid),
            pod_groups=tuple(group for resource in groups for group in self.owned(resource, uid)),
            vanished=tuple(memory.vanished.values()),
            known=frozenset(memory.known),
            rejected_writes=tuple(memory.rejections.values()),
            name_conflicts=dict(memory.name_conflicts),
            pod_events=dict(memory.pod_events),
            used_ports=self.ports.taken(uid),
            planning=self._planning,
            expected_capacity=self.expected_capacity(uid),
            allocation=self.allocations(job) if naming.SCALING in job.metadata.annotations else None,
            decision_failure=self.decision_failure(),
        )
        return dataclasses.replace(observed, unreadable=self._unreadable.among(job, observed)) if self._unreadable else observed

    def owned(self, resource: Resource, uid: str) -> tuple[Any, ...]:
        store = self.objects.get(resource)
        return store.owned_by(uid) if store is not None else ()

    def _job_changed(self, plural: str) -> Callable[[Any, Any], None]:
        def changed(old: jobs.JobObject[Any] | None, new: jobs.JobObject[Any] | None) -> None:
            job = new or old
            assert job is not None
            if new is None:
                self.forget(job.metadata.uid)
            else:
                self.ports.observed(job.metadata.uid, new.status.host_ports)
            self._handler.job_changed(JobQueueKey(plural, job.metadata.namespace, job.metadata.name))

        return changed

    def _object_changed(self, resource: Resource) -> Callable[[Any, Any], None]:
        def changed(old: meta.Named | None, new: meta.Named | None) -> None:
            obj = new or old
            assert obj is not None
            owner = self.owner(obj)
            if owner is None:
                return
            if old is None:
                self._handler.object_added(owner, resource, obj)
            if new is None:
                self._unreadable.forget(obj.metadata.uid)
                self._name_freed(owner, (resource, obj.metadata.name))
                if resource == resources.PODS:
                    self._pod_deleted(obj)
            self._handler.job_changed(owner)

        return changed

    def owner(self, obj: meta.Named) -> JobQueueKey | None:
        """The job that owns the object, by name: an object of an earlier job of that name concerns its successor too."""
        ref = obj.metadata.controller
        if ref is not None and ref.kind == "Job":
            launcher = self.objects.get(resources.BATCH_JOBS)
            parent = launcher.get(obj.metadata.namespace, ref.name) if launcher is not None else None
            ref = parent.metadata.controller if parent is not None else None
        if ref is None:
            return self._owner_by_labels(obj)
        return JobQueueKey(self._plurals[ref.kind], obj.metadata.namespace, ref.name) if ref.kind in self._plurals else None

    def _owner_by_labels(self, obj: meta.Named) -> JobQueueKey | None:
        labels = obj.metadata.labels
        plural = self._controllers.get(labels.get(naming.OPERATOR_NAME, ""))
        return JobQueueKey(plural, obj.metadata.namespace, labels.get(naming.JOB_NAME, "")) if plural is not None else None

    def _name_freed(self, key: JobQueueKey, name: ObjectName) -> None:
        job = self.job(key)
        memory = self._memories.get(job.metadata.uid) if job is not None else None
        if memory is not None:
            memory.name_freed(name)

    def _pod_deleted(self, pod: Any) -> None:
        ref = pod.metadata.controller
        memory = self._memories.get(ref.uid) if ref is not None else None
        if memory is None:
            return
        memory.pod_events.pop(pod.metadata.uid, None)
        if pod.metadata.uid in memory.deletions:
            memory.deletions.discard(pod.metadata.uid)
        else:
            memory.vanished[pod.metadata.uid] = pod
