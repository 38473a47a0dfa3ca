"""Jobs that Kueue admits: why a suspended job is not admitted yet, from its Workload. Pure."""

from __future__ import annotations

from typing import NamedTuple

from traincrew.inspection.observed_job import ObservedJob
from traincrew.model.workloads import QUEUE_NAME, Workload


class Admission(NamedTuple):
    """What was found about the admission of a job."""

    readable: bool
    """False: the user may not read Workloads."""
    workload: Workload | None = None


class QueueReason(NamedTuple):
    cause: str
    remedy: str


def queue(observed: ObservedJob) -> str:
    """The name of the job's LocalQueue. Empty: the job has none."""
    return observed.job.metadata.labels.get(QUEUE_NAME, "")


def explain(observed: ObservedJob, admission: Admission) -> QueueReason:
    """Why a suspended job with a queue does not run."""
    waits = f"the job is suspended and waits in queue {queue(observed)} of Kueue"
    if not admission.readable:
        return QueueReason(
            waits, "Ask for the right to read Workloads: `kubectl get workloads` says why Kueue does not admit it."
        )
    workload = admission.workload
    if workload is None:
        return QueueReason(
            f"the job is suspended and names queue {queue(observed)} of Kueue, which has no Workload for it",
            f"Check that Kueue is running and that its integration kubeflow.org/{observed.kind.singular} is enabled. "
            f"Without Kueue, run `traincrew resume {observed.reference}`.",
        )
    name, namespace = workload.metadata.name, workload.metadata.namespace
    if not workload.spec.active:
        activate = f"""`kubectl -n {namespace} patch workload {name} --type merge -p '{{"spec":{{"active":true}}}}'`"""
        return QueueReason(f"the job is suspended and its Workload {name} is deactivated", f"Run {activate}.")
    message = workload.pending_message or ("the job is admitted, and Kueue has not resumed it yet" if workload.admitted else "")
    remedy = (
        "Wait until other jobs of the queue finish, lower the requests of the job, or raise the quota of the ClusterQueue: "
        f"`kubectl -n {namespace} describe workload {name}`. Kueue resumes the job."
    )
    return QueueReason(f"{waits}: {message}" if message else waits, remedy)
