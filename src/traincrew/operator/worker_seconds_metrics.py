"""The counters of worker seconds: at every scrape they grow by what the elastic jobs have used since the last one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

from traincrew.model import jobs
from traincrew.operator.metrics import Metrics
from traincrew.operator.observer import Observer

Sums = dict[str, float]
REDONE = "redone"
"""No part of its own: these seconds are also in the parts of the workers that ran. It has a counter of its own."""


class WorkerSecondsMetrics:
    """Jobs that existed before the first scrape count from then: an earlier process has counted what they used before."""

    def __init__(
        self, observer: Observer, metrics: Metrics, is_leading: Callable[[], bool], now: Callable[[], dt.datetime]
    ) -> None:
        self._observer, self._metrics, self._is_leading, self._now = observer, metrics, is_leading, now
        self._seen: dict[str, Sums] | None = None
        """By UID of the job."""

    def refresh(self) -> None:
        if not self._is_leading():
            self._seen = None
            return
        before, found, now = self._seen, dict[str, Sums](), self._now()
        for framework, job in self._elastic_jobs():
            assert job.status.worker_seconds is not None
            uid, sums = job.metadata.uid, job.status.worker_seconds.at(now)
            resizes = {reason: float(number) for reason, number in job.status.worker_seconds.resizes.items()}
            found[uid] = {**sums, **resizes}
            known = found[uid] if before is None else before.get(uid, {})
            labels = (job.metadata.namespace, framework)
            grown = {name: max(amount - known.get(name, 0.0), 0.0) for name, amount in found[uid].items()}
            self._metrics.redone_worker_seconds.labels(*labels).inc(grown[REDONE])
            for part in sums.keys() - {REDONE}:
                self._metrics.worker_seconds.labels(*labels, part).inc(grown[part])
            for reason in resizes:
                self._metrics.resizes.labels(*labels, reason).inc(grown[reason])
        self._seen = found

    def _elastic_jobs(self) -> Iterator[tuple[str, jobs.JobObject[Any]]]:
        for plural, store in self._observer.jobs.items():
            framework = self._observer.kinds[plural].framework
            yield from ((framework, job) for job in store if job.status.worker_seconds is not None)
