"""Workloads of Kueue: the objects by which its queues admit jobs and single workers."""

from __future__ import annotations

import msgspec

from traincrew.model.meta import Meta, Struct
from traincrew.model.resources import Resource
from traincrew.model.status import Condition

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
"""Label of jobs that Kueue admits: the name of their LocalQueue."""
JOB_UID = "kueue.x-k8s.io/job-uid"
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta1", "workloads", "Workload")


class WorkloadSpec(Struct):
    active: bool = True


class WorkloadStatus(Struct):
    conditions: list[Condition] = []


class Workload(Struct):
    metadata: Meta
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()

    def condition(self, name: str) -> Condition | None:
        return next((each for each in self.status.conditions if each.type == name), None)

    def is_true(self, name: str) -> bool:
        condition = self.condition(name)
        return condition is not None and condition.status == "True"

    @property
    def admitted(self) -> bool:
        return self.spec.active and self.is_true("Admitted") and not self.is_true("Evicted")

    @property
    def pending_message(self) -> str:
        """Why it is not admitted. The first that applies: no quota, an eviction that has not ended yet, an admission check."""
        reserved = self.condition("QuotaReserved")
        if reserved is None or reserved.status != "True":
            return reserved.message if reserved is not None else ""
        evicted = self.condition("Evicted")
        if evicted is not None and evicted.status == "True":
            return evicted.message
        return "" if self.is_true("Admitted") else "quota is reserved, and the admission checks of the queue are not ready"


decode: msgspec.json.Decoder[Workload] = msgspec.json.Decoder(Workload)
