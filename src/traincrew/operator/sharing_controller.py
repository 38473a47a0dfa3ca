"""Lets the pure decision choose the workers of elastic jobs whenever the cluster has changed.

The result of a decision is a `Share` for each job, which becomes part of its observed state. It may be lost at any time.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Iterator
from typing import Any

from traincrew import settings
from traincrew.client import interfaces
from traincrew.kinds import elasticity
from traincrew.model import jobs, naming, resources
from traincrew.model.shares import GAVE_BACK, Share
from traincrew.operator import sharing_informers, sharing_quotas, sharing_scene
from traincrew.operator.job_key import JobQueueKey
from traincrew.operator.observer import Observer
from traincrew.operator.sharing_informers import SharingInformers
from traincrew.sharing import share
from traincrew.sharing.scene import NOTICE_TAINTS, ElasticJob, Memory, RefusedPods, Rules, Scene, Shares

log = logging.getLogger(__name__)

DEBOUNCE = 0.2
"""Seconds between a change of the cluster and the decision: changes come in groups."""
LARGEST_LOAD = 0.1
"""The part of its time that the operator spends on decisions in a large cluster that changes all the time."""
RETRY_SECONDS = 5.0
INSTALL = "install it with sharing.enabled=true (Helm) or apply manifests/sharing"
ONE_NAMESPACE = (
    "an operator that watches single namespaces cannot see nodes and other pods: install it for all namespaces, "
    "or set the annotation to manual"
)


class SharingController:
    def __init__(
        self,
        reader: interfaces.Reader,
        observer: Observer,
        options: settings.Operator,
        requeue: Callable[[JobQueueKey], None],
        now: Callable[[], dt.datetime],
    ) -> None:
        self._reader, self._observer, self._requeue, self._now = reader, observer, requeue, now
        self._single_namespace = bool(options.namespaces)
        self._rules = rules(options)
        self._opted_in: dict[JobQueueKey, str] = {}
        """The UIDs of jobs whose annotation lets the operator choose."""
        self._changed = asyncio.Event()
        self._shares: dict[str, Share] = {}
        self._memory = Memory()
        self._refusal = ""
        self._surplus_class = options.planning.surplus_class
        self._class_refusal = ""
        """Why no pod can be on idle capacity."""
        observer.shares = self.share_of
        self._promises: dict[str, str] = {}
        """Which workers leave for the job with this UID."""
        observer.promises = lambda uid: self._promises.get(uid, "")
        observer.on_rejection = self._changed.set

    def share_of(self, job: jobs.JobObject[Any]) -> Share | None:
        if self._single_namespace:
            return Share(refusal=ONE_NAMESPACE)
        refusal = self._refusal or (self._class_refusal if _mode(job) == elasticity.IDLE else "")
        return Share(refusal=refusal) if refusal else self._shares.get(job.metadata.uid)

    def job_changed(self, key: JobQueueKey) -> None:
        """Called for every job that was created, changed or deleted."""
        job = self._observer.job(key)
        wishes = job is not None and not job.status.finished and _mode(job) != elasticity.MANUAL
        if job is not None and wishes and not self._single_namespace:
            self._opted_in[key] = job.metadata.uid
            self._changed.set()
        elif (uid := self._opted_in.pop(key, None)) is not None:
            self._shares.pop(uid, None)
            self._changed.set()

    async def run(self) -> None:
        """Runs until cancelled, while this process leads."""
        keys = self._observer.keys()
        for key in keys:
            self.job_changed(key)
        while True:
            while not self._opted_in:
                await self._changed.wait()
                self._changed.clear()
            log.info("sharing begins", extra={"jobs": len(self._opted_in)})
            async with sharing_informers.running(SharingInformers(self._reader, self._changed.set)) as informers:
                await self._share(informers)
            self._shares.clear()
            self._promises.clear()
            self._memory, self._refusal = Memory(), ""
            log.info("sharing ends")

    async def _share(self, informers: SharingInformers) -> None:
        """Until no job lets the operator choose."""
        while self._opted_in:
            again: dt.datetime | None = None
            self._changed.clear()
            began = asyncio.get_running_loop().time()
            if self._is_allowed(informers) and informers.synced:
                try:
                    again = self._decide(informers)
                except Exception:  # jobs run on with the workers that they have
                    log.exception("sharing failed", extra={"retry_in": RETRY_SECONDS})
                    again = self._now() + dt.timedelta(seconds=RETRY_SECONDS)
            spent = asyncio.get_running_loop().time() - began
            await self._next_change(again, max(DEBOUNCE, spent / LARGEST_LOAD))

    async def _next_change(self, again: dt.datetime | None, pause: float) -> None:
        timeout = max((again - self._now()).total_seconds(), DEBOUNCE) if again is not None else None
        try:
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        except TimeoutError:
            return
        await asyncio.sleep(pause)

    def _is_allowed(self, informers: SharingInformers) -> bool:
        forbidden = informers.forbidden
        refusal = f"the operator may not read {forbidden}: {INSTALL}" if forbidden else ""
        missing = informers.synced and informers.priority_classes.get("", self._surplus_class) is None
        class_refusal = f"PriorityClass {self._surplus_class} does not exist: {INSTALL}" if missing else ""
        if (refusal, class_refusal) != (self._refusal, self._class_refusal):
            self._refusal, self._class_refusal = refusal, class_refusal
            for key in self._opted_in:
                self._requeue(key)
        return not refusal

    def _decide(self, informers: SharingInformers) -> dt.datetime | None:
        jobs_by_key = self._jobs(informers)
        scene = Scene(
            nodes=tuple(informers.nodes),
            pods=tuple(informers.pods),
            jobs=tuple(jobs_by_key.values()),
            quotas=sharing_quotas.quotas(informers.quotas),
            refused=tuple(self._refused()),
            storage=informers.storage,
            namespaces=informers.namespaces,
            memory=self._memory,
            rules=self._rules,
        )
        result = share(scene, self._now())
        self._memory = result.memory
        self._publish(jobs_by_key, result)
        return result.look_again

    def _jobs(self, informers: SharingInformers) -> dict[JobQueueKey, ElasticJob]:
        found, rejected = {}, self._observer.rejected_pods()
        for key in sorted(self._opted_in):
            job = self._observer.job(key)
            if job is None or (self._class_refusal and _mode(job) == elasticity.IDLE):
                continue
            kind, pods = self._observer.kinds[key.plural], informers.pods.owned_by(job.metadata.uid)
            own = rejected.get(job.metadata.uid, {})
            each = sharing_scene.elastic_job(kind, job, pods, informers.autoscalers, own)
            if each is not None:
                found[key] = each
        return found

    def _refused(self) -> Iterator[RefusedPods]:
        rejected = self._observer.rejected_pods()
        for key in sorted(self._observer.keys()) if rejected else ():
            job = self._observer.job(key)
            if job is not None and (own := rejected.get(job.metadata.uid)):
                present = {pod.name for pod in self._observer.owned(resources.PODS, job.metadata.uid)}
                if (found := sharing_quotas.refused_pods(self._observer.kinds[key.plural], job, present, own)) is not None:
                    yield found

    def _publish(self, jobs_by_key: dict[JobQueueKey, ElasticJob], result: Shares) -> None:
        before, self._shares = self._shares, dict(result.jobs)
        for key, job in jobs_by_key.items():
            new, old = result.jobs[job.uid], before.get(job.uid)
            if old is None or _decision(new) != _decision(old):
                self._requeue(key)
            if new.leaving or new.hints:
                fields = {"job": job.reference, "workers": len(new.members), "leaving": len(new.leaving), "new": len(new.hints)}
                log.info("workers change", extra=fields)
        self._promise(jobs_by_key, result)

    def _promise(self, jobs_by_key: dict[JobQueueKey, ElasticJob], result: Shares) -> None:
        """Jobs that wait learn which workers leave for them."""
        before, keys, texts = self._promises, dict[str, JobQueueKey](), dict[str, list[str]]()
        for job in jobs_by_key.values():
            for claimant, indexes in _leaving_for(result.jobs[job.uid]).items():
                key = self._observer.key(claimant)
                waiting = self._observer.job(key) if key is not None else None
                if key is not None and waiting is not None:
                    keys[waiting.metadata.uid] = key
                    workers = f"worker {indexes[0]}" if len(indexes) == 1 else f"workers {', '.join(map(str, indexes))}"
                    texts.setdefault(waiting.metadata.uid, []).append(f"{job.reference} gives back {workers}")
        self._promises = {uid: " and ".join(parts) for uid, parts in texts.items()}
        for uid, key in keys.items():
            if self._promises[uid] != before.get(uid):
                self._requeue(key)


def _leaving_for(given: Share) -> dict[str, list[int]]:
    """The indexes of workers that leave, by claimant."""
    found: dict[str, list[int]] = {}
    for index, leave in sorted(given.leaving.items()):
        if leave.claimant and leave.reason == GAVE_BACK:
            found.setdefault(leave.claimant, []).append(index)
    return found


def rules(options: settings.Operator) -> Rules:
    given = options.sharing
    return Rules(
        settle=given.settle,
        budget=given.resize_budget,
        headroom=given.headroom,
        headroom_parts=given.headroom_parts,
        overcommitted=frozenset(options.overcommitted),
        notice_taints=frozenset(given.notice_taints or NOTICE_TAINTS),
    )


def _mode(job: jobs.JobObject[Any]) -> str:
    return job.metadata.annotations.get(naming.SCALING, elasticity.MANUAL).strip()


def _decision(given: Share) -> tuple[object, ...]:
    """Without the message, which may change often: it is written with the next status."""
    return (set(given.members), given.surplus, dict(given.leaving), dict(given.evicted), given.reason, given.refusal)
