"""The rank of a replica, as the operator has written it into the environment of its pod."""

from __future__ import annotations

from traincrew.console.view.pods import ShownPod
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import naming

VARIABLES = ("RANK", "PROCESS_ID")
"""PyTorch and XGBoost; JAX. TensorFlow has tasks of several types, and Paddle numbers its nodes when they meet."""


def rank(observed: ObservedJob, pod: ShownPod) -> int | None:
    """None: the kind gives none, it changes while the job runs, or the pod runs several processes that have one each."""
    if observed.kind.pods.rank is not None:
        labels = pod.metadata.labels
        role, index = labels.get(naming.REPLICA_TYPE) or labels.get(naming.JOB_ROLE, ""), labels.get(naming.REPLICA_INDEX, "")
        return observed.kind.pods.rank(observed.job, role, int(index)) if index.isdecimal() else None
    if _processes(observed) != 1:
        return None
    main = next((each for each in pod.spec.containers if each.name == observed.kind.pods.container), None)
    found = {each.name: each.value for each in main.env} if main is not None else {}
    return next((int(found[name]) for name in VARIABLES if found.get(name, "").isdecimal()), None)


def _processes(observed: ObservedJob) -> int:
    """Processes of each pod of a PyTorchJob: torchrun gives each of them a rank."""
    given = getattr(observed.job.spec, "nproc_per_node", None)
    return int(given) if isinstance(given, str) and given.isdecimal() else 1
