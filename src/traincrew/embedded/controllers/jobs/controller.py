"""The Job controller: plans the next step of a Job and executes it, until nothing is left to do."""

from __future__ import annotations

import asyncio
import datetime as dt

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock, interfaces
from traincrew.client.lister import Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.event_recorder import ControllerEventRecorder
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.jobs import backoff, completion
from traincrew.embedded.controllers.jobs.plan import Step, plan
from traincrew.embedded.controllers.jobs.pod_control import TERMINATING, PodControl
from traincrew.embedded.controllers.pods import Pod
from traincrew.embedded.controllers.reconcile_loop import NamespacedName
from traincrew.model.meta import OwnerReference
from traincrew.model.resources import BATCH_JOBS

MAX_STEPS = 20
"""Steps in a row for one Job before other Jobs get their turn."""


class JobController:
    def __init__(self, client: interfaces.Client, informers: SharedInformers) -> None:
        self._client = client
        self._jobs, self._pods = informers.lister(BATCH_JOBS), informers.pods
        self._jobs.listeners.append(self._job_changed)
        self._pods.listeners.append(self._pod_changed)
        self._recorder = ControllerEventRecorder(client, "job-controller")
        self._pod_control = PodControl(client, self._pods, self._recorder)
        self._queue: WorkQueue[NamespacedName] = WorkQueue()
        self._orphans: WorkQueue[NamespacedName] = WorkQueue()
        self._backoff_records: dict[str, backoff.BackoffRecord] = {}
        """By UID. A new process derives them from the remaining pods."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(reconcile_loop.run("job", self._queue, self._reconcile))
            group.create_task(reconcile_loop.run("job-orphan-pods", self._orphans, self._reconcile_orphan))

    def _job_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        for gone in (old,) if old is not None and (new is None or new.metadata.uid != old.metadata.uid) else ():
            self._backoff_records.pop(gone.metadata.uid, None)
            for pod in self._pods.owned_by(gone.metadata.uid):
                self._orphans.add((pod.metadata.namespace, pod.metadata.name))
        if new is not None:
            self._queue.add((new.metadata.namespace, new.metadata.name))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for pod in (old, new):
            owner = _job_of(pod) if pod is not None else None
            if pod is None or owner is None:
                continue
            if self._job(pod, owner) is not None:
                self._queue.add_after(
                    (pod.metadata.namespace, owner.name), reconcile_loop.batch_period(len(self._pods.owned_by(owner.uid)))
                )
            elif pod is new and pod.tracked:
                self._orphans.add((pod.metadata.namespace, pod.metadata.name))

    def _job(self, pod: Pod, owner: OwnerReference) -> Unstructured | None:
        job = self._jobs.get(pod.metadata.namespace, owner.name)
        return job if job is not None and job.metadata.uid == owner.uid else None

    async def _reconcile(self, key: NamespacedName) -> float | None:
        for _ in range(MAX_STEPS):
            stored = self._jobs.get(*key)
            if stored is None:
                return None
            now = clock.now()
            pods = self._pods.owned_by(stored.metadata.uid)
            step = plan(stored.body, pods, self._record(stored, pods), now)
            if step.idle:
                return await self._expire(stored, now) if completion.is_finished(stored.body) else step.requeue_after
            try:
                await self._execute(stored, step)
            except errors.Forbidden as error:
                if any(cause.reason == TERMINATING for cause in error.causes):
                    return None
                raise
        return 0.0

    def _record(self, stored: Unstructured, pods: tuple[Pod, ...]) -> backoff.BackoffRecord:
        uid = stored.metadata.uid
        if uid not in self._backoff_records:
            self._backoff_records[uid] = backoff_from_pods(stored.body, pods)
        return self._backoff_records[uid]

    async def _execute(self, stored: Unstructured, step: Step) -> None:
        job = stored.body
        await self._pod_control.delete(job, step.delete, step.uncounted)
        await self._pod_control.create(job, step.create)
        if step.status is not None:
            meta = job["metadata"]
            titled = {"apiVersion": "batch/v1", "kind": "Job"} | job | {"status": step.status}
            body = msgspec.json.encode(titled)
            response = await self._client.replace(BATCH_JOBS, meta["namespace"], meta["name"], body, "status")
            self._jobs.apply_response(response)
        self._backoff_records[stored.metadata.uid] = step.record
        for event in step.events:
            self._recorder.event(BATCH_JOBS, job, *event)
        await self._pod_control.remove_finalizers(step.release)

    async def _expire(self, stored: Unstructured, now: dt.datetime) -> float | None:
        left = completion.until_expiry(stored.body, now)
        if left is None or left > 0:
            return left
        meta = stored.metadata
        response = await self._client.delete(
            BATCH_JOBS, meta.namespace, meta.name, uid=meta.uid, version=meta.resource_version, propagation="Foreground"
        )
        self._jobs.apply_delete_response(stored, response)
        return None

    async def _reconcile_orphan(self, key: NamespacedName) -> float | None:
        """Removes the finalizer of a pod whose Job is deleted."""
        pod = self._pods.get(*key)
        owner = _job_of(pod) if pod is not None else None
        if pod is None or owner is None or not pod.tracked or self._job(pod, owner) is not None:
            return None
        try:
            body: Object = msgspec.json.decode(await self._client.get(BATCH_JOBS, pod.metadata.namespace, owner.name))
        except errors.NotFound:
            body = {"metadata": {"uid": ""}}
        if body["metadata"]["uid"] != owner.uid:
            await self._pod_control.remove_finalizers((pod,))
        return None


def _job_of(pod: Pod) -> OwnerReference | None:
    owner = pod.metadata.controller
    return owner if owner is not None and owner.kind == "Job" and owner.api_version == "batch/v1" else None


def backoff_from_pods(job: Object, pods: tuple[Pod, ...]) -> backoff.BackoffRecord:
    """The record of a previous process: from the pods that it has counted."""
    counted = [pod for pod in pods if not pod.tracked]
    succeeded = [pod for pod in counted if pod.status.phase == "Succeeded"]
    return backoff.updated(backoff.BackoffRecord(), succeeded, [pod for pod in counted if pod.status.phase == "Failed"])
