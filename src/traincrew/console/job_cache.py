"""All jobs that the user may read, kept current by informers, with a revision for each change.

If the user may not list a kind in all namespaces, its jobs of the default namespace are watched instead.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple

from traincrew import errors
from traincrew.client import clock, informer, interfaces, store
from traincrew.console.contract.jobs import JobKey, JobSummary, UnreadableKind
from traincrew.console.view import job_summaries
from traincrew.inspection import job_informer, observed_job
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model import naming, objects, resources
from traincrew.model.resources import Resource
from traincrew.serving import background_tasks

Key = tuple[str, str, str]
"""Kind (singular), namespace, name."""
SETTLE_SECONDS = 0.05
"""Changes come in bursts: a job and its pods."""
AGE_SECONDS = 10.0
"""Time between recomputations of jobs whose status depends on their age."""
MAX_REMOVED = 10_000


class Entry(NamedTuple):
    summary: JobSummary
    revision: int


class RunningJob(NamedTuple):
    key: Key
    observed: observed_job.ObservedJob


class Changes(NamedTuple):
    changed: list[JobSummary]
    removed: list[JobKey]


class JobCache:
    def __init__(self, reader: interfaces.Reader, namespace: str) -> None:
        self._reader, self._namespace = reader, namespace
        self.instance = secrets.token_hex(4)
        """Distinguishes the revisions of this process from those of an earlier one."""
        self.revision = 0
        self.unreadable: list[UnreadableKind] = []
        self.synced = asyncio.Event()
        self.touched: collections.Counter[Key] = collections.Counter()
        """By job: the number of changes of it and its pods, also of those that its summary does not show."""
        self.activities: dict[Key, job_summaries.Activity] = {}
        self._entries: dict[Key, Entry] = {}
        self._removed: collections.deque[tuple[int, JobKey]] = collections.deque(maxlen=MAX_REMOVED)
        self._jobs: dict[str, informer.Informer[job_informer.RawObject]] = {}
        self._pods: informer.Informer[objects.Pod] | None = None
        self._pods_of: dict[tuple[str, str], dict[str, objects.Pod]] = {}
        self._dirty: set[Key] = set()
        self._wake = asyncio.Event()
        self._listeners: set[asyncio.Event] = set()

    def __iter__(self) -> Iterator[JobSummary]:
        return (entry.summary for entry in self._entries.values())

    @property
    def is_watched(self) -> bool:
        return bool(self._listeners)

    @property
    def pod_namespace(self) -> str | None:
        """The namespace whose pods are read; None: those of all namespaces."""
        return self._pods.scope.namespace if self._pods is not None else None

    def running_jobs(self) -> Iterator[RunningJob]:
        for key, entry in self._entries.items():
            if entry.summary.status == "Running" and (observed := self._observe(key)) is not None:
                yield RunningJob(key, observed)

    def report(self, key: Key, activity: job_summaries.Activity) -> None:
        if key in self._entries and self.activities.get(key) != activity:
            self.activities[key] = activity
            self._dirty.add(key)
            self._wake.set()

    def covers(self, kind: str, namespace: str) -> bool:
        """Whether changes of jobs of this kind and namespace, and of their pods, are observed."""
        found = self._jobs.get(kind)
        scopes = [each.scope.namespace for each in (found, self._pods) if each is not None]
        return len(scopes) == 2 and all(scope in (None, namespace) for scope in scopes)

    def failure(self) -> errors.ApiError | None:
        """Why the API server does not respond, or that it rejects the credentials; None if it responds."""
        lost = (errors.TemporaryError, errors.Unauthorized)
        return next((each.failure for each in self._informers() if isinstance(each.failure, lost)), None)

    def since(self, revision: int) -> Changes | None:
        """What has changed after a revision; None if that is not known any more."""
        if self._removed and len(self._removed) == MAX_REMOVED and revision < self._removed[0][0]:
            return None
        changed = [entry.summary for entry in self._entries.values() if entry.revision > revision]
        return Changes(changed, [key for number, key in self._removed if number > revision])

    async def first_state(self) -> None:
        """Wait until the jobs are read. Raise the error of the API server if it does not respond."""
        with self.listening() as changed:
            while not self.synced.is_set():
                if (failure := self.failure()) is not None:
                    raise failure
                changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.2):
                        await changed.wait()

    @contextlib.contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """An event that is set after each change, and when the API server is lost or found."""
        event = asyncio.Event()
        self._listeners.add(event)
        try:
            yield event
        finally:
            self._listeners.discard(event)

    def notify(self) -> None:
        for event in self._listeners:
            event.set()

    def running(self) -> contextlib.AbstractAsyncContextManager[None]:
        return background_tasks.running(self._run())

    async def _run(self) -> None:
        self._pods = await self._pod_informer()
        self._jobs = {kind.singular: await self._job_informer(kind) for kind in KINDS}
        for each in self._informers():
            each.on_failure = self.notify
        async with asyncio.TaskGroup() as tasks:
            for each in self._informers():
                tasks.create_task(each.run())
            tasks.create_task(self._compute())
            tasks.create_task(self._age())

    def _informers(self) -> list[informer.Informer[Any]]:
        return [*self._jobs.values(), *([self._pods] if self._pods is not None else [])]

    async def _job_informer(self, kind: JobKind) -> informer.Informer[job_informer.RawObject]:
        scope = informer.Scope(kind.resource, await self._scope(kind.resource, kind.singular))

        def changed(old: job_informer.RawObject | None, new: job_informer.RawObject | None) -> None:
            found = new or old
            if found is not None:
                self._touch((kind.singular, found.metadata.namespace, found.metadata.name))

        return informer.Informer(self._reader, scope, store.InformerStore(job_informer.decode_object, changed))

    async def _pod_informer(self) -> informer.Informer[objects.Pod]:
        scope = informer.Scope(resources.PODS, await self._scope(resources.PODS, "pod"), naming.JOB_NAME)
        return informer.Informer(self._reader, scope, store.InformerStore(observed_job.decode_pod, self._pod_changed))

    async def _scope(self, resource: Resource, name: str) -> str | None:
        """None: all namespaces. The default namespace, if the user may not list all."""
        try:
            async with contextlib.aclosing(self._reader.pages(resource, None)) as pages:
                await anext(pages, None)
        except errors.Forbidden as error:
            self.unreadable.append(UnreadableKind(kind=name, namespace="", message=error.message))
            return self._namespace
        except errors.ApiError:
            return None  # the informer tries again
        return None

    def _pod_changed(self, old: objects.Pod | None, new: objects.Pod | None) -> None:
        pod = new or old
        if pod is None:
            return
        job = (pod.metadata.namespace, pod.metadata.labels.get(naming.JOB_NAME, ""))
        pods = self._pods_of.setdefault(job, {})
        if new is not None:
            pods[pod.metadata.uid] = new
        else:
            pods.pop(pod.metadata.uid, None)
            if not pods:
                del self._pods_of[job]
        for kind in KINDS:
            if kind.singular in self._jobs and self._jobs[kind.singular].store.get(*job) is not None:
                self._touch((kind.singular, *job))

    def _touch(self, key: Key) -> None:
        self.touched[key] += 1
        self._dirty.add(key)
        self._wake.set()

    async def _age(self) -> None:
        while True:
            await asyncio.sleep(AGE_SECONDS)
            self._dirty |= {key for key, entry in self._entries.items() if entry.summary.status == "Starting"}
            self._wake.set()

    async def _compute(self) -> None:
        for each in self._informers():
            while not each.synced.is_set() and not isinstance(each.failure, errors.Forbidden):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.2):  # wait_for of Python 3.11 may lose a cancellation
                        await each.synced.wait()
        while True:
            await self._compute_dirty()
            self.synced.set()
            await self._wake.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            self._wake.clear()

    async def _compute_dirty(self) -> None:
        dirty, self._dirty = self._dirty, set()
        for number, key in enumerate(dirty, 1):
            self._compute_job(key)
            if number % 100 == 0:
                await asyncio.sleep(0)
        if dirty:
            self.notify()

    def _observe(self, key: Key) -> observed_job.ObservedJob | None:
        """None: the job is deleted."""
        kind = next(each for each in KINDS if each.singular == key[0])
        stored = self._jobs[key[0]].store.get(key[1], key[2])
        return observed_job.observe(kind, stored.text, self._pods_of.get(key[1:], {}).values()) if stored is not None else None

    def _compute_job(self, key: Key) -> None:
        observed, before = self._observe(key), self._entries.get(key)
        if observed is None:
            if before is not None:
                self.revision += 1
                self._removed.append((self.revision, job_summaries.key(before.summary)))
                del self._entries[key]
            self.touched.pop(key, None)
            self.activities.pop(key, None)
            return
        kind = next(each for each in KINDS if each.singular == key[0])
        if observed.state != "Running":
            self.activities.pop(key, None)
        activity = self.activities.get(key, job_summaries.Activity())
        summary = job_summaries.summarize(kind, observed, clock.now(), activity)
        if before is None or before.summary != summary:
            self.revision += 1
            self._entries[key] = Entry(summary, self.revision)
