"""Lets the pure decision choose the workers of elastic jobs whenever the cluster has changed.

The result of a decision is an `Allocation` for each job, which becomes part of its observed state. It may be lost at any time.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import functools
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from traincrew import settings
from traincrew.client import interfaces
from traincrew.kinds import elasticity
from traincrew.model import jobs, resources
from traincrew.model.elastic_allocation import Allocation
from traincrew.operator import sharing_gangs, sharing_quotas, sharing_snapshot
from traincrew.operator.expected_capacity import ExpectedCapacity
from traincrew.operator.forbidden_reads import ForbiddenReads
from traincrew.operator.job_key import JobQueueKey
from traincrew.operator.metrics import Metrics
from traincrew.operator.observer import Observer
from traincrew.operator.sharing_informers import SharingInformers
from traincrew.operator.sharing_metrics import SharingMetrics
from traincrew.operator.sharing_snapshot import INSTALL, JobSurroundings
from traincrew.operator.surplus_workloads import AdmittedJob, FinishedJobs, SurplusWorkloads, needs_admission
from traincrew.planner import gang
from traincrew.serving import background_tasks
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import (
    ClusterSnapshot,
    DecisionHistory,
    ElasticJob,
    QuotaRejection,
    SharingDecision,
    UnadmittedGang,
)
from traincrew.sharing.policy import NOTICE_TAINTS, UNRESPONSIVE_TAINTS, SharingPolicy

log = logging.getLogger(__name__)

DEBOUNCE = 0.2
"""Seconds between a change of the cluster and the decision: changes come in groups."""
LARGEST_LOAD = 0.1
"""The part of its time that the operator spends on decisions in a large cluster that changes all the time."""
RETRY_SECONDS = 5.0
FAILURE_SHOWN_AFTER = dt.timedelta(seconds=15)
"""How long decisions must fail until the jobs say so: the API server may be away for a moment."""
FAILED = "the operator cannot choose the number of workers and tries again every few seconds; its log has the details"
LONGEST_ERROR = 300
ONE_NAMESPACE = (
    "an operator that watches single namespaces cannot see nodes and other pods: install it for all namespaces, "
    "or set the annotation to manual"
)


class SharingController:
    def __init__(
        self,
        client: interfaces.Client,
        observer: Observer,
        options: settings.Operator,
        requeue: Callable[[JobQueueKey], None],
        metrics: Metrics,
        now: Callable[[], dt.datetime],
    ) -> None:
        self._client, self._observer, self._requeue, self._now = client, observer, requeue, now
        self._single_namespace = bool(options.namespaces)
        self._admits_gangs = gang.is_volcano(options.planning.gang_scheduler)
        self._policy, self._metrics = policy(options), SharingMetrics(metrics)
        self._opted_in: dict[JobQueueKey, str] = {}
        """The UIDs of jobs whose annotation lets the operator choose."""
        self._finished = FinishedJobs()
        self._changed = asyncio.Event()
        self._allocations: dict[str, Allocation] = {}
        self._history = DecisionHistory()
        self._error = ""
        self._forbidden = ForbiddenReads()
        self._failure = ""
        self._failing_since: dt.datetime | None = None
        """Since when no decision could be made."""
        self._surplus_class = options.planning.surplus_class
        self._class_error = ""
        """Why no pod can be on idle capacity."""
        observer.allocations = self.allocation_of
        observer.decision_failure = lambda: self._failure
        self._expected_capacity = ExpectedCapacity(observer, requeue)
        observer.on_rejection = self._changed.set

    def allocation_of(self, job: jobs.JobObject[Any]) -> Allocation | None:
        if self._single_namespace:
            return Allocation(error=ONE_NAMESPACE)
        error = self._error or (self._class_error if elasticity.mode(job) == elasticity.IDLE else "")
        return Allocation(error=error) if error else self._allocations.get(job.metadata.uid)

    def job_changed(self, key: JobQueueKey) -> None:
        """Called for every job that was created, changed or deleted."""
        job = self._observer.job(key)
        if self._admits_gangs and self._opted_in:
            self._changed.set()  # a gang without pods is seen by its job alone
        opted_in = job is not None and not job.status.finished and elasticity.mode(job) != elasticity.MANUAL
        if not self._single_namespace and self._finished.job_changed(key, job):
            self._changed.set()
        if job is not None and opted_in and not self._single_namespace:
            self._opted_in[key] = job.metadata.uid
            self._changed.set()
        elif (uid := self._opted_in.pop(key, None)) is not None:
            self._allocations.pop(uid, None)
            self._changed.set()

    async def run(self) -> None:
        """Runs until cancelled, while this process leads."""
        keys = self._observer.keys()
        for key in keys:
            self.job_changed(key)
        while True:
            while not self._opted_in and not self._finished.uids:
                await self._changed.wait()
                self._changed.clear()
            log.info("sharing begins", extra={"jobs": len(self._opted_in)})
            informers = SharingInformers(self._client, self._changed.set)
            async with background_tasks.running(informers.run()):
                workloads = SurplusWorkloads(
                    self._client, self._changed.set, self._surplus_class, functools.partial(self._priority, informers)
                )
                try:
                    await self._share(informers, workloads)
                finally:
                    await workloads.stop()
            self._allocations.clear()
            self._expected_capacity.clear()
            self._metrics.ended()
            self._history, self._error, self._forbidden = DecisionHistory(), "", ForbiddenReads()
            self._failure, self._failing_since = "", None
            log.info("sharing ends")

    async def _share(self, informers: SharingInformers, workloads: SurplusWorkloads) -> None:
        """Until no job lets the operator choose."""
        while self._opted_in or self._finished.uids:
            requeue_at: dt.datetime | None = None
            self._changed.clear()
            began = asyncio.get_running_loop().time()
            if any(map(needs_admission, self._jobs_of(self._opted_in, self._finished.uids))):
                workloads.watch()
            if self._is_allowed(informers, self._now()) and informers.synced and workloads.synced:
                try:
                    requeue_at = await self._decide(informers, workloads)
                    await workloads.write(self._admitted_jobs(informers))
                    self._finished.check(workloads)
                    self._report_failure("")
                    if workloads.failed:
                        requeue_at = min(requeue_at or self._retry_at, self._retry_at)
                except Exception as error:  # jobs run on with the workers that they have
                    log.exception("sharing failed", extra={"retry_in": RETRY_SECONDS})
                    self._report_failure(repr(error))
                    requeue_at = self._retry_at
                if self._forbidden.are_recent(self._now()):
                    requeue_at = min(requeue_at or self._retry_at, self._retry_at)
            spent = asyncio.get_running_loop().time() - began
            await self._next_change(requeue_at, max(DEBOUNCE, spent / LARGEST_LOAD))

    def _report_failure(self, error: str) -> None:
        """Failures that last are shown on the jobs. error: empty if the decision was made."""
        self._failing_since = (self._failing_since or self._now()) if error else None
        lasts = self._failing_since is not None and self._now() - self._failing_since >= FAILURE_SHOWN_AFTER
        message = f"{FAILED}: {error.splitlines()[0][:LONGEST_ERROR]}" if error and lasts else ""
        if message != self._failure:
            self._failure = message
            for key in self._opted_in:
                self._requeue(key)

    @property
    def _retry_at(self) -> dt.datetime:
        return self._now() + dt.timedelta(seconds=RETRY_SECONDS)

    async def _next_change(self, requeue_at: dt.datetime | None, pause: float) -> None:
        timeout = max((requeue_at - self._now()).total_seconds(), DEBOUNCE) if requeue_at is not None else None
        try:
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        except TimeoutError:
            return
        await asyncio.sleep(pause)

    def _priority(self, informers: SharingInformers) -> int:
        found = informers.priority_classes.get("", self._surplus_class)
        return found.value if found is not None else 0

    def _is_allowed(self, informers: SharingInformers, now: dt.datetime) -> bool:
        forbidden = self._forbidden.lasting(informers.forbidden, synced=informers.synced, now=now)
        error = f"the operator may not read {forbidden}: {INSTALL}" if forbidden else ""
        missing = informers.synced and informers.priority_classes.get("", self._surplus_class) is None
        class_error = f"PriorityClass {self._surplus_class} does not exist: {INSTALL}" if missing else ""
        if (error, class_error) != (self._error, self._class_error):
            self._error, self._class_error = error, class_error
            for key in self._opted_in:
                self._requeue(key)
        if error and not self._opted_in:
            self._finished.uids.clear()  # without its rights the operator has created no Workload
        return not error

    def _admitted_jobs(self, informers: SharingInformers) -> Iterator[AdmittedJob]:
        for key, uid in {**self._finished.uids, **self._opted_in}.items():
            job, given = self._observer.job(key), self._allocations.get(uid)
            if job is not None and needs_admission(job):
                kind, requested = self._observer.kinds[key.plural], given.workloads if given is not None else frozenset[int]()
                indexes = sharing_snapshot.worker_indexes(kind, job, informers.pods.owned_by(uid))
                yield AdmittedJob(kind, job, requested, indexes)

    def _jobs_of(self, *keys: Iterable[JobQueueKey]) -> Iterator[jobs.JobObject[Any]]:
        return (job for key in itertools.chain(*keys) if (job := self._observer.job(key)) is not None)

    async def _decide(self, informers: SharingInformers, workloads: SurplusWorkloads) -> dt.datetime | None:
        jobs_by_key = self._jobs(informers, workloads)
        snapshot = ClusterSnapshot(
            nodes=tuple(informers.nodes),
            pods=tuple(informers.pods),
            jobs=tuple(jobs_by_key.values()),
            quotas=sharing_quotas.quotas(informers.quotas),
            quota_rejections=tuple(self._quota_rejections()),
            unadmitted_gangs=tuple(self._unadmitted_gangs()),
            storage=informers.storage,
            namespaces=informers.namespaces,
            history=self._history,
            policy=self._policy,
        )
        # In a large cluster a decision takes longer than other tasks, such as renewals of the Lease, should wait.
        result = await asyncio.to_thread(allocate, snapshot, self._now())
        self._metrics.decided(snapshot, result, self._now())
        self._history = result.history
        self._publish(jobs_by_key, result)
        return result.requeue_at

    def _jobs(self, informers: SharingInformers, workloads: SurplusWorkloads) -> dict[JobQueueKey, ElasticJob]:
        found, rejected = {}, self._observer.rejected_pods()
        for key in sorted(self._opted_in):
            job = self._observer.job(key)
            if job is None or (self._class_error and elasticity.mode(job) == elasticity.IDLE):
                continue
            pods, own = tuple(informers.pods.owned_by(job.metadata.uid)), rejected.get(job.metadata.uid, {})
            admission = workloads.admission(job) if needs_admission(job) else None
            known = JobSurroundings(pods, informers.autoscalers, own, admission)
            each = sharing_snapshot.elastic_job(self._observer.kinds[key.plural], job, known)
            if each is not None:
                found[key] = each
        return found

    def _quota_rejections(self) -> Iterator[QuotaRejection]:
        rejected = self._observer.rejected_pods()
        for key in sorted(self._observer.keys()) if rejected else ():
            job = self._observer.job(key)
            if job is not None and (own := rejected.get(job.metadata.uid)):
                present = {pod.name for pod in self._observer.owned(resources.PODS, job.metadata.uid)}
                if (found := sharing_quotas.quota_rejection(self._observer.kinds[key.plural], job, present, own)) is not None:
                    yield found

    def _unadmitted_gangs(self) -> Iterator[UnadmittedGang]:
        groups = (self._observer.store(resources.VOLCANO_POD_GROUPS) if self._admits_gangs else None) or ()
        pending = [group for group in groups if group.status.phase == sharing_gangs.PENDING]
        for group in sorted(pending, key=lambda each: (each.metadata.namespace, each.metadata.name)):
            key = self._observer.owner(group)
            job = self._observer.job(key) if key is not None else None
            if key is None or job is None or self._observer.owned(resources.PODS, job.metadata.uid):
                continue
            if (found := sharing_gangs.unadmitted(self._observer.kinds[key.plural], job, group)) is not None:
                yield found

    def _publish(self, jobs_by_key: dict[JobQueueKey, ElasticJob], result: SharingDecision) -> None:
        before, self._allocations = self._allocations, dict(result.jobs)
        for key, job in jobs_by_key.items():
            new, old = result.jobs[job.uid], before.get(job.uid)
            if old is None or _decision(new) != _decision(old):
                self._requeue(key)
            if new.leaving or new.node_hints:
                counts = {"workers": len(new.members), "leaving": len(new.leaving), "new": len(new.node_hints)}
                log.info("workers change", extra={"job": job.reference, **counts})
        self._expected_capacity.publish({job.reference: result.jobs[job.uid] for job in jobs_by_key.values()})


def policy(options: settings.Operator) -> SharingPolicy:
    given = options.sharing
    return SharingPolicy(
        settle=given.settle,
        resize_budget=given.resize_budget,
        headroom=given.headroom,
        headroom_fractions=given.headroom_fractions,
        overcommitted=frozenset(options.overcommitted),
        notice_taints=frozenset((*(given.notice_taints or NOTICE_TAINTS), *UNRESPONSIVE_TAINTS)),
        autoscaled=given.autoscaled,
        pin_surplus=given.pin_surplus,
    )


def _decision(given: Allocation) -> tuple[object, ...]:
    """Without the message, which may change often: it is written with the next status."""
    return (set(given.members), given.surplus, dict(given.leaving), dict(given.evicted), given.reason, given.error)
