"""Jobs of every kind with one leader and some workers (JAX: workers only)."""

from __future__ import annotations

import pytest
from tests.cluster import manifests
from tests.cluster.api import Object, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import SubmittedJob

LEADERS = {
    "TFJob": "Chief", "PyTorchJob": "Master", "XGBoostJob": "Master", "PaddleJob": "Master", "JAXJob": "", "MPIJob": "Launcher",
}  # fmt: skip
EVERY = tuple(LEADERS)

every_kind = pytest.mark.parametrize("kind", EVERY)
every_led_kind = pytest.mark.parametrize("kind", [kind for kind, leader in LEADERS.items() if leader])


def job(kind: str, workers: int = 1, policy: str | None = None, run: Object | None = None, name: str = "j") -> Object:
    roles: Object = {"Worker": manifests.replicas(kind, workers, policy)}
    if LEADERS[kind]:
        roles[LEADERS[kind]] = manifests.replicas(kind, 1, policy)
    return manifests.job(kind, name, run=run, **roles)


def leader(kind: str, name: str = "j") -> str:
    """The pod whose success is the success of the job. In a job with workers only, the first worker."""
    if kind == "MPIJob":
        return f"{name}-launcher"
    return f"{name}-{(LEADERS[kind] or 'Worker').lower()}-0"


def pods(kind: str, workers: int = 1, name: str = "j") -> list[str]:
    """All pods of the job, the leader first."""
    return list(dict.fromkeys([leader(kind, name), *(f"{name}-worker-{index}" for index in range(workers))]))


def services(kind: str, names: list[str]) -> set[str]:
    """The Services of these pods."""
    return set() if kind == "MPIJob" else set(names)


def finish_deletions(job: SubmittedJob, kubelet: FakeKubelet) -> None:
    """Remove all terminating pods, as their kubelet does."""
    eventually(lambda: all(pod["metadata"].get("deletionTimestamp") for pod in job.pods().values()))
    for name in job.pods():
        kubelet.gone(name)
    eventually(lambda: not job.pods())
