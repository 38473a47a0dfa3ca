"""Notices that a job that waits can never run on this cluster."""

from __future__ import annotations

import dataclasses

import msgspec

from traincrew import errors
from traincrew.cli.jobs import unsatisfiable
from traincrew.client import interfaces
from traincrew.inspection import job_informer, observed_job
from traincrew.model import resources


class NeverRuns(Exception):
    """The job waits for something that cannot happen here."""


@dataclasses.dataclass
class PermanentFailureCheck:
    reader: interfaces.Reader
    local: bool
    """The cluster of this machine, whose node does not change. Other clusters may get other nodes."""
    _checked: int = -1
    """The number of changes at which the nodes were compared last."""

    async def check(self, informer: job_informer.JobInformer) -> None:
        """Raise NeverRuns."""
        observed = informer.observe()
        if observed is None or observed.job.status.finished or observed.job.suspended:
            return
        reason = unsatisfiable.container_reason(observed.pods)
        waiting = unsatisfiable.unschedulable(observed.pods) if self.local else []
        if not reason and waiting and self._checked != informer.changes:
            self._checked = informer.changes
            reason = await self._scheduling_reason(observed, informer.key.namespace)
        if reason:
            raise NeverRuns(f"{observed.reference} can never run here: {reason.rstrip('.')}")

    async def _scheduling_reason(self, observed: observed_job.ObservedJob, namespace: str) -> str:
        try:
            nodes = [msgspec.json.decode(raw) async for page in self.reader.pages(resources.NODES, None) for raw in page.items]
            labels = observed_job.selector(observed.job.name)
            pages = self.reader.pages(resources.PODS, namespace, labels=labels)
            pods = [msgspec.json.decode(raw) async for page in pages for raw in page.items]
        except errors.ApiError:
            return ""
        own = {pod.metadata.uid for pod in observed.pods if not pod.finished}
        waiting = unsatisfiable.unschedulable(observed.pods)
        together = observed.kind.lifecycle.fixed_size(observed.job)
        chosen = [pod for pod in pods if pod["metadata"]["uid"] in own]
        return unsatisfiable.scheduling_reason(waiting, chosen, nodes, together=together)
