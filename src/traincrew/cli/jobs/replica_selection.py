"""Selects a running replica of a job and one of its containers, for verbs that work inside a container."""

from __future__ import annotations

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.inspection import observed_job
from traincrew.model import objects


def running_pods(job: observed_job.ObservedJob, replica: str) -> list[objects.Pod]:
    """The running pods of the replica or role; of all replicas if none is named. Raise NoJob if there are none."""
    chosen = [pod for pod in job.pods if not replica or observed_job.matches(job.replica(pod), replica)]
    running = [pod for pod in chosen if pod.status.phase == "Running"]
    if running:
        return running
    if chosen:
        names = ", ".join(f"{job.replica(pod)} ({pod.status.phase})" for pod in chosen)
        raise errors.NoJob(f"no running replica: {names}. Run `traincrew why {job.reference}` for the reason.")
    known = ", ".join(job.replica(pod) for pod in job.pods)
    if not replica:
        raise errors.NoJob(f"{job.reference} has no pods. Run `traincrew why {job.reference}` for the reason.")
    raise errors.NoJob(f'replica "{replica}" not found in {job.reference}. Its replicas: {known or "none"}.')


def container(job: observed_job.ObservedJob, pod: objects.Pod, wanted: str) -> pod_logs.ContainerReference:
    """The container of that name, else the training container, else the first one."""
    names = [each.name for each in pod.status.container_statuses]
    if wanted and wanted not in names:
        raise errors.NoJob(f'container "{wanted}" not found in pod "{pod.name}". Its containers: {", ".join(names)}.')
    return pod_logs.ContainerReference(pod.metadata.namespace, pod.name, wanted or job.training_container(pod))
