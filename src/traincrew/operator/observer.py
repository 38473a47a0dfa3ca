"""The operator's eyes: one watch a resource, and the world around a job put together from them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from traincrew import settings
from traincrew.client import port
from traincrew.client.informer import Informer, Scope
from traincrew.client.store import Store
from traincrew.kinds import kind as kinds
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, meta, naming, objects, resources
from traincrew.model.observed import Observed
from traincrew.model.resources import Resource
from traincrew.operator.host_ports import Ledger
from traincrew.operator.job_key import JobKey
from traincrew.operator.job_memory import Name, Notebook

logger = logging.getLogger(__name__)

_TYPES: dict[Resource, type[Any]] = {
    resources.PODS: objects.Pod,
    resources.SERVICES: objects.Plain,
    resources.CONFIG_MAPS: objects.ConfigMap,
    resources.SERVICE_ACCOUNTS: objects.Plain,
    resources.ROLES: objects.Role,
    resources.ROLE_BINDINGS: objects.Plain,
    resources.BATCH_JOBS: objects.BatchJob,
    resources.AUTOSCALERS: objects.Autoscaler,
    resources.VOLCANO_POD_GROUPS: objects.PodGroup,
    resources.PLUGINS_POD_GROUPS: objects.PodGroup,
}
_UNWATCHED = (resources.SECRETS,)
_NO_TEMPLATE = msgspec.Raw(b"{}")


class _Named(meta.Struct):
    metadata: meta.Meta


def watched(kinds: tuple[JobKind, ...], planning: settings.Planning) -> tuple[Resource, ...]:
    """Every resource that some enabled kind makes objects of."""
    found = [resources.PODS]
    for kind in kinds:
        for each in (kind, *kind.variants.values()):
            found += [*each.dependents.resources, *([resources.SERVICES] if each.pods.services else [])]
    if planning.gang_scheduler:
        volcano = planning.gang_scheduler.lower() == "volcano"
        found.append(resources.VOLCANO_POD_GROUPS if volcano else resources.PLUGINS_POD_GROUPS)
    return tuple(resource for resource in dict.fromkeys(found) if resource not in _UNWATCHED)


class Ears(Protocol):
    """Whoever is told what the watches bring; not what this process itself has written."""

    def on_job(self, key: JobKey) -> None:
        """Something about that job is another now."""

    def on_object(self, key: JobKey, resource: Resource, entry: meta.Named) -> None:
        """An object of the job has come up."""


class World:
    """Local copies of jobs and of everything that belongs to them."""

    def __init__(self, reader: port.Reader, kinds: tuple[JobKind, ...], options: settings.Operator, ears: Ears) -> None:
        self.kinds = {kind.plural: kind for kind in kinds}
        self._plurals = {kind.kind: kind.plural for kind in kinds}
        self._controllers = {each.controller: kind.plural for kind in kinds for each in (kind, *kind.variants.values())}
        self._planning = options.planning
        self._ears = ears
        self._notebooks: dict[str, Notebook] = {}
        self.ports = Ledger(ears.on_job)
        namespace = options.namespace or None
        self.jobs: dict[str, Store[Any]] = {
            kind.plural: Store(_job_decoder(kind), self._job_changed(kind.plural)) for kind in kinds
        }
        self.objects: dict[Resource, Store[Any]] = {
            resource: Store(_decoder(_TYPES[resource]), self._object_changed(resource))
            for resource in watched(kinds, options.planning)
        }
        self.informers: list[Informer[Any]] = [
            *(self._informer(reader, Scope(kind.resource, namespace), self.jobs[kind.plural]) for kind in kinds),
            *(self._informer(reader, Scope(each, namespace, naming.OURS), store) for each, store in self.objects.items()),
        ]

    def _informer(self, reader: port.Reader, scope: Scope, store: Store[Any]) -> Informer[Any]:
        def undecodable(raw: bytes, error: Exception) -> None:
            name = msgspec.json.decode(raw, type=_Named).metadata
            where = f"{name.namespace}/{name.name}"
            logger.error("object unreadable", extra={"resource": scope.resource.plural, "object": where, "error": str(error)})

        return Informer(reader, scope, store, undecodable)

    def store(self, resource: Resource) -> Store[Any] | None:
        """The local copy of a resource, be it of jobs or of what they own."""
        return self.objects[resource] if resource in self.objects else self.jobs.get(resource.plural)

    def dismiss(self, uid: str) -> None:
        """A job that is no more needs no notebook."""
        self._notebooks.pop(uid, None)
        self.ports.forget(uid)

    def notebook(self, uid: str) -> Notebook:
        return self._notebooks.setdefault(uid, Notebook())

    def job(self, key: JobKey) -> jobs.JobObject[Any] | None:
        found: jobs.JobObject[Any] | None = self.jobs[key.plural].get(key.namespace, key.name)
        return found

    def keys(self) -> list[JobKey]:
        return [JobKey(plural, job.metadata.namespace, job.metadata.name) for plural, store in self.jobs.items() for job in store]

    async def synced(self) -> None:
        await asyncio.gather(*(informer.synced.wait() for informer in self.informers))

    @property
    def ready(self) -> bool:
        return all(informer.synced.is_set() for informer in self.informers)

    def observe(self, job: jobs.JobObject[Any]) -> Observed:
        uid = job.metadata.uid
        notes = self._notebooks.get(uid) or Notebook()
        launchers = self.owned(resources.BATCH_JOBS, uid)
        pods = self.owned(resources.PODS, uid)
        for launcher in launchers:
            pods += self.owned(resources.PODS, launcher.metadata.uid)
        groups = (resources.VOLCANO_POD_GROUPS, resources.PLUGINS_POD_GROUPS)
        return Observed(
            pods=pods,
            services=self.owned(resources.SERVICES, uid),
            config_maps=self.owned(resources.CONFIG_MAPS, uid),
            roles=self.owned(resources.ROLES, uid),
            role_bindings=self.owned(resources.ROLE_BINDINGS, uid),
            service_accounts=self.owned(resources.SERVICE_ACCOUNTS, uid),
            batch_jobs=launchers,
            autoscalers=self.owned(resources.AUTOSCALERS, uid),
            pod_groups=tuple(group for resource in groups for group in self.owned(resource, uid)),
            vanished=tuple(notes.vanished.values()),
            known=frozenset(notes.known),
            refusals=tuple(notes.refusals.values()),
            pod_events=dict(notes.pod_events),
            ports_taken=self.ports.taken(uid),
            planning=self._planning,
        )

    def owned(self, resource: Resource, uid: str) -> tuple[Any, ...]:
        store = self.objects.get(resource)
        return store.owned_by(uid) if store is not None else ()

    def _job_changed(self, plural: str) -> Callable[[Any, Any], None]:
        def changed(old: jobs.JobObject[Any] | None, new: jobs.JobObject[Any] | None) -> None:
            job = new or old
            assert job is not None
            if new is None:
                self.dismiss(job.metadata.uid)
            else:
                self.ports.seen(job.metadata.uid, new.status.host_ports)
            self._ears.on_job(JobKey(plural, job.metadata.namespace, job.metadata.name))

        return changed

    def _object_changed(self, resource: Resource) -> Callable[[Any, Any], None]:
        def changed(old: meta.Named | None, new: meta.Named | None) -> None:
            entry = new or old
            assert entry is not None
            owner = self._owner(entry)
            if owner is None:
                return
            if old is None:
                self._ears.on_object(owner, resource, entry)
            if new is None:
                self._free_name(owner, (resource, entry.metadata.name))
                if resource == resources.PODS:
                    self._pod_gone(entry)
            self._ears.on_job(owner)

        return changed

    def _owner(self, entry: meta.Named) -> JobKey | None:
        """The job an object belongs to, by name: an object of an earlier job of that name concerns its successor too."""
        ref = entry.metadata.controller
        if ref is not None and ref.kind == "Job":
            launcher = self.objects.get(resources.BATCH_JOBS)
            parent = launcher.get(entry.metadata.namespace, ref.name) if launcher is not None else None
            ref = parent.metadata.controller if parent is not None else None
        if ref is None:
            return self._named_on_labels(entry)
        return JobKey(self._plurals[ref.kind], entry.metadata.namespace, ref.name) if ref.kind in self._plurals else None

    def _named_on_labels(self, entry: meta.Named) -> JobKey | None:
        labels = entry.metadata.labels
        plural = self._controllers.get(labels.get(naming.OPERATOR_NAME, ""))
        return JobKey(plural, entry.metadata.namespace, labels.get(naming.JOB_NAME, "")) if plural is not None else None

    def _free_name(self, key: JobKey, name: Name) -> None:
        job = self.job(key)
        notes = self._notebooks.get(job.metadata.uid) if job is not None else None
        if notes is not None:
            notes.name_is_free(name)

    def _pod_gone(self, pod: Any) -> None:
        ref = pod.metadata.controller
        notes = self._notebooks.get(ref.uid) if ref is not None else None
        if notes is None:
            return
        notes.pod_events.pop(pod.metadata.uid, None)
        if pod.metadata.uid in notes.released:
            notes.released.discard(pod.metadata.uid)
        else:
            notes.vanished[pod.metadata.uid] = pod


def _decoder(type: type[Any]) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(type).decode


def _job_decoder(kind: JobKind) -> Callable[[bytes], jobs.JobObject[Any]]:
    """A finished job's templates are never used again: thousands of such jobs may be around."""

    def decode(raw: bytes) -> jobs.JobObject[Any]:
        stored = kinds.decode(kind, raw)
        if not stored.status.finished:
            return stored
        specs = {
            key: msgspec.structs.replace(spec, template=_NO_TEMPLATE) if spec is not None else None
            for key, spec in (stored.spec.replica_specs or {}).items()
        }
        return msgspec.structs.replace(stored, spec=msgspec.structs.replace(stored.spec, replica_specs=specs))

    return decode
