"""The pods of a Job and their counts: those in the status, and those that have ended since."""

from __future__ import annotations

import dataclasses
import functools

from traincrew.apimachinery import completion_indexes
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.jobs import backoff, pod_indexes, policies
from traincrew.embedded.controllers.pods import Pod


@dataclasses.dataclass(frozen=True)
class JobPods:
    """A pod that has ended is counted once: it is added to status.uncountedTerminatedPods, its finalizer is removed, then
    the count is raised and the pod leaves the list. After a crash status and pods show which of these steps are done."""

    job: Object
    pods: tuple[Pod, ...]

    @property
    def spec(self) -> Object:
        spec: Object = self.job["spec"]
        return spec

    @property
    def status(self) -> Object:
        return self.job.get("status") or {}

    @property
    def indexed(self) -> bool:
        return bool(self.spec.get("completionMode") == "Indexed")

    @property
    def per_index(self) -> bool:
        return self.indexed and self.spec.get("backoffLimitPerIndex") is not None

    @property
    def suspended(self) -> bool:
        return bool(self.spec.get("suspend"))

    @property
    def deleted(self) -> bool:
        return "deletionTimestamp" in self.job["metadata"]

    @functools.cached_property
    def active(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if pod.active)

    @functools.cached_property
    def terminating(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if pod.terminating)

    def uncounted(self, outcome: str) -> list[str]:
        """outcome: `succeeded` or `failed`."""
        return (self.status.get("uncountedTerminatedPods") or {}).get(outcome) or []

    def valid(self, pod: Pod) -> bool:
        """Whether the pod has one of the Job's indexes."""
        return not self.indexed or ((index := pod_indexes.of(pod)) is not None and index < self.spec["completions"])

    def is_failed(self, pod: Pod) -> bool:
        return policies.is_failed(pod, self.spec)

    @functools.cached_property
    def new_succeeded(self) -> tuple[Pod, ...]:
        noted = set(self.uncounted("succeeded"))
        return tuple(
            pod
            for pod in self.pods
            if pod.tracked and pod.status.phase == "Succeeded" and pod.metadata.uid not in noted and self.valid(pod)
        )

    @functools.cached_property
    def new_failed(self) -> tuple[Pod, ...]:
        noted = set(self.uncounted("failed"))
        return tuple(
            pod for pod in self.pods if pod.tracked and pod.metadata.uid not in noted and self.valid(pod) and self.is_failed(pod)
        )

    @functools.cached_property
    def completed(self) -> frozenset[int]:
        before = completion_indexes.parse(self.status.get("completedIndexes", ""), self.spec["completions"])
        return before | {index for pod in self.new_succeeded if (index := pod_indexes.of(pod)) is not None}

    @property
    def succeeded(self) -> int:
        if self.indexed:
            return len(self.completed)
        return int(self.status.get("succeeded", 0)) + len(self.new_succeeded) + len(self.uncounted("succeeded"))

    @property
    def failed(self) -> int:
        counted = sum(policies.match_failure_policy(self.spec, pod).counts for pod in self.new_failed)
        return int(self.status.get("failed", 0)) + counted + len(self.uncounted("failed"))

    @functools.cached_property
    def failed_indexes(self) -> frozenset[int]:
        before = completion_indexes.parse(self.status.get("failedIndexes") or "", self.spec["completions"])
        return before | {index for pod in self.pods if (index := self._fails_its_index(pod)) is not None}

    def _fails_its_index(self, pod: Pod) -> int | None:
        index = pod_indexes.of(pod)
        if index is None or not pod.tracked or not self.valid(pod) or not self.is_failed(pod):
            return None
        result = policies.match_failure_policy(self.spec, pod)
        beyond = result.counts and pod_indexes.failures(pod)[0] >= self.spec["backoffLimitPerIndex"]
        return index if beyond or result.action == "FailIndex" else None

    @functools.cached_property
    def awaiting_replacement(self) -> dict[int, Pod]:
        """Failed pods that keep their finalizer until a new pod of their index continues their failure count."""
        taken = {pod_indexes.of(pod) for pod in self.active} | self.completed | self.failed_indexes
        failed: dict[int, Pod] = {}
        for pod in self.pods:
            index = pod_indexes.of(pod)
            if index is None or index in taken or not (pod.tracked and self.valid(pod) and self.is_failed(pod)):
                continue
            if index not in failed or _rank(failed[index]) <= _rank(pod):
                failed[index] = pod
        return failed


def _rank(pod: Pod) -> tuple[int, float]:
    return sum(pod_indexes.failures(pod)), backoff.finished(pod).timestamp()
