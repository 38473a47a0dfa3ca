"""Pending jobs report which workers of elastic jobs are removed for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from traincrew.model.elastic_allocation import GAVE_BACK, Allocation
from traincrew.operator.job_key import JobQueueKey
from traincrew.operator.observer import Observer


class ExpectedCapacity:
    def __init__(self, observer: Observer, requeue: Callable[[JobQueueKey], None]) -> None:
        self._observer, self._requeue = observer, requeue
        self._texts: dict[str, str] = {}
        """Which workers are removed for the job with this UID."""
        observer.expected_capacity = lambda uid: self._texts.get(uid, "")

    def clear(self) -> None:
        self._texts.clear()

    def publish(self, allocations: Mapping[str, Allocation]) -> None:
        """allocations: of elastic jobs, by their reference."""
        before, keys, texts = self._texts, dict[str, JobQueueKey](), dict[str, list[str]]()
        for reference, allocation in allocations.items():
            for claimant, indexes in _leaving_for(allocation).items():
                key = self._observer.key(claimant)
                waiting = self._observer.job(key) if key is not None else None
                if key is not None and waiting is not None:
                    keys[waiting.metadata.uid] = key
                    workers = f"worker {indexes[0]}" if len(indexes) == 1 else f"workers {', '.join(map(str, indexes))}"
                    texts.setdefault(waiting.metadata.uid, []).append(f"{reference} gives back {workers}")
        self._texts = {uid: " and ".join(parts) for uid, parts in texts.items()}
        for uid, key in keys.items():
            if self._texts[uid] != before.get(uid):
                self._requeue(key)


def _leaving_for(given: Allocation) -> dict[str, list[int]]:
    """The indexes of removed workers, by claimant."""
    found: dict[str, list[int]] = {}
    for index, removal in sorted(given.leaving.items()):
        if removal.claimant and removal.reason == GAVE_BACK:
            found.setdefault(removal.claimant, []).append(index)
    return found
