"""A simulated API server with one Job and its pods. The execution of a step can be interrupted at any request."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import msgspec

from traincrew.embedded.controllers.jobs import backoff, plan
from traincrew.embedded.controllers.pods import TRACKING, Pod, PodMeta

Object = dict[str, Any]
START = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


def job(**spec: Any) -> Object:
    template = {"metadata": {"labels": {"job-name": "j"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}
    complete = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "template": template, **spec}
    return {"metadata": {"name": "j", "namespace": "n", "uid": "job"}, "spec": complete}


@dataclasses.dataclass
class SimulatedJob:
    job: Object
    pods: dict[str, Pod] = dataclasses.field(default_factory=dict)
    now: dt.datetime = START
    record: backoff.BackoffRecord = backoff.BackoffRecord()
    created: int = 0
    events: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    ended: dict[str, str] = dataclasses.field(default_factory=dict)
    """The final phase of each pod, including deleted pods."""

    @property
    def status(self) -> Object:
        status: Object = self.job.get("status") or {}
        return status

    def step(self) -> plan.Step:
        return plan.plan(self.job, tuple(self.pods.values()), self.record, self.now)

    def execute(self, step: plan.Step, at_most: int = 10**9) -> None:
        """at_most: number of requests after which the controller is killed."""
        left = at_most
        for pod in step.delete:
            if step.uncounted and (left := left - 1) >= 0:
                self._remove_finalizer(pod.metadata.uid)
            if (left := left - 1) >= 0:
                self._delete(pod.metadata.uid)
        for body in step.create:
            if (left := left - 1) >= 0:
                self._create(body)
        if step.status is not None and (left := left - 1) >= 0:
            self.job = {**self.job, "status": step.status}
        if left >= 0:
            self.record = step.record
            self.events += step.events
        for pod in step.release:
            if (left := left - 1) >= 0:
                self._remove_finalizer(pod.metadata.uid)

    def settle(self) -> None:
        for _ in range(100):
            step = self.step()
            if step.idle:
                return
            self.execute(step)
        raise AssertionError("the Job does not settle")

    def _create(self, body: Object) -> None:
        self.created += 1
        meta = {
            **body["metadata"],
            "name": f"p{self.created}",
            "uid": f"u{self.created}",
            "creationTimestamp": self.now.isoformat(),
        }
        pod = msgspec.convert({**body, "metadata": meta, "status": {"phase": "Pending"}}, Pod)
        self.pods[pod.metadata.uid] = pod

    def _delete(self, uid: str) -> None:
        if uid in self.pods:
            pod = self.pods[uid]
            self._put(pod, msgspec.structs.replace(pod.metadata, deletion_timestamp=self.now))

    def _remove_finalizer(self, uid: str) -> None:
        if uid in self.pods:
            pod = self.pods[uid]
            self._put(pod, msgspec.structs.replace(pod.metadata, finalizers=[]))

    def _put(self, pod: Pod, meta: PodMeta) -> None:
        if meta.deletion_timestamp is not None and not meta.finalizers:
            del self.pods[meta.uid]
        else:
            self.pods[meta.uid] = msgspec.structs.replace(pod, metadata=meta)

    def end(self, uid: str, phase: str) -> None:
        pod = self.pods[uid]
        state = {"terminated": {"exitCode": int(phase == "Failed"), "finishedAt": self.now.isoformat()}}
        status = {"phase": phase, "containerStatuses": [{"name": "c", "state": state}]}
        self.pods[uid] = msgspec.structs.replace(pod, status=msgspec.convert(status, type(pod.status)))
        self.ended[uid] = phase

    def delete(self, uid: str) -> None:
        """Another client deletes the pod."""
        tracked = TRACKING in self.pods[uid].metadata.finalizers
        self._delete(uid)
        if tracked:
            self.ended.setdefault(uid, "Failed")

    def active(self) -> list[str]:
        return [uid for uid, pod in self.pods.items() if pod.active]

    def conditions(self) -> list[str]:
        return [each["type"] for each in self.status.get("conditions", ()) if each["status"] == "True"]
