"""`traincrew migrate` with the real Go operators at work, and back: running jobs keep their pods, and never do two act on one."""

from __future__ import annotations

import contextlib
import functools
import pathlib
import urllib.error
from typing import Any

from tests.cluster import installed_operators, jobs_with_leader, operators
from tests.cluster.api import Api, Object, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.installed_operators import GO_LABELS, OWN_LABELS
from tests.ecosystem import programs_of_others
from tests.ecosystem.deployed_operator import DeployedOperator, deployed
from tests.ecosystem.test_go_operators import conditions, pods_by_uid, training_operator
from tools.kube import cluster

KINDS = ("PyTorchJob", "TFJob", "XGBoostJob", "MPIJob")
READS = ("get", "list", "watch")
NOT_ABOUT_JOBS = ("leases", "events", "selfsubjectaccessreviews")
LONG = 90.0


def traincrew(account: pathlib.Path) -> DeployedOperator:
    def is_ready(process: object) -> bool:
        assert isinstance(process, operators.OperatorProcess)
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            return "ok" in process.fetch(process.health_port, "/readyz")
        return False

    start = functools.partial(operators.running, account, "--leader-elect", ready=False)
    return DeployedOperator("traincrew", OWN_LABELS, start, is_ready, ("operator", "--leader-elect"))


def is_running(process: object) -> bool:
    assert isinstance(process, programs_of_others.RunningProgram)
    process.assert_running()
    return True


def go_training_operator(kube: cluster.Cluster) -> DeployedOperator:
    return DeployedOperator("training-operator", GO_LABELS, functools.partial(training_operator, kube), is_running)


def go_mpi_operator(kube: cluster.Cluster) -> DeployedOperator:
    flags = (f"-kubeConfig={kube.kubeconfig}", "-monitoring-port=0", "-lock-namespace=mpi-operator")
    start = functools.partial(programs_of_others.running, "mpi-operator/mpi-operator", flags, kube.kubeconfig)
    return DeployedOperator("mpi-operator", {"app": "mpi-operator"}, start, is_running, namespace="mpi-operator")


class Writes:
    """The writes of the two operators since now, from the audit log."""

    def __init__(self, kube: cluster.Cluster, go_program: str) -> None:
        # training-operator 1.7 writes statuses with a client that has the agent of Go's own HTTP client.
        self._kube, self._go, self._mark = kube, (f"{go_program}/", "Go-http-client/"), kube.audit_size()

    def of_traincrew(self) -> list[Object]:
        return [entry for entry in self._all() if "(operator)" in str(entry.get("userAgent"))]

    def of_go(self) -> list[Object]:
        return [entry for entry in self._all() if str(entry.get("userAgent")).startswith(self._go)]

    def _all(self) -> list[Object]:
        return [
            entry
            for entry in self._kube.audit(since=self._mark)
            if entry["verb"] not in READS and (entry.get("objectRef") or {}).get("resource") not in NOT_ABOUT_JOBS
        ]


def times(writes: list[Object]) -> list[str]:
    return sorted(str(each["requestReceivedTimestamp"]) for each in writes)


def migrate(kube: cluster.Cluster, *flags: str) -> str:
    done = installed_operators.traincrew(kube, "migrate", "--apply", *flags)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_jobs(api: Api, prefix: str) -> None:
    """A job of every kind, Running."""
    kubelet = FakeKubelet(api, "default")
    for kind in KINDS:
        name = f"{prefix}-{kind.lower()}"
        api.create("default", jobs_with_leader.job(kind, 1, name=name))
        # The Go operator creates the launcher of a v1 MPIJob when the workers are ready.
        for pod in reversed(jobs_with_leader.pods(kind, 1, name)):
            eventually(functools.partial(api.find, "pods", "default", pod), LONG)
            kubelet.run(pod)
        eventually(functools.partial(_is, api, kind, name, "Running"), LONG)


def succeed_jobs(api: Api, prefix: str) -> None:
    for kind in KINDS:
        name = f"{prefix}-{kind.lower()}"
        FakeKubelet(api, "default").succeed(jobs_with_leader.leader(kind, name))
        eventually(functools.partial(_is, api, kind, name, "Succeeded"), LONG, f"{kind} {name} has not succeeded")


def _is(api: Api, kind: str, name: str, condition: str) -> bool:
    return condition in conditions(api, kind, name)


def test_jobs_of_the_go_training_operator_are_taken_over_while_it_is_at_work_and_given_back(
    kube: cluster.Cluster, api: Api, account: pathlib.Path
) -> None:
    with deployed(kube, api, go_training_operator(kube)), deployed(kube, api, traincrew(account)):
        writes = Writes(kube, "manager")
        run_jobs(api, "taken")
        before = pods_by_uid(api)
        assert writes.of_traincrew() == [], "the Go operator is at work"

        printed = migrate(kube)
        assert f"{len(before)} running pods are still running" in printed
        assert pods_by_uid(api) == before
        succeed_jobs(api, "taken")
        assert pods_by_uid(api).items() <= before.items(), "no pod was replaced"
        assert times(writes.of_go())[-1] < times(writes.of_traincrew())[0]

        run_jobs(api, "given")
        before = pods_by_uid(api)
        writes = Writes(kube, "manager")
        migrate(kube, "--back")
        assert pods_by_uid(api).items() >= before.items()
        succeed_jobs(api, "given")
        assert all(each < times(writes.of_go())[0] for each in times(writes.of_traincrew()))


def mpi_job(name: str) -> Object:
    body = jobs_with_leader.job("MPIJob", 1, name=name)
    body["apiVersion"] = "kubeflow.org/v2beta1"
    return body


def test_jobs_of_the_go_mpi_operator_are_taken_over_while_it_is_at_work(
    kube: cluster.Cluster, api: Api, account: pathlib.Path
) -> None:
    assert kube.kubectl("create", "namespace", "mpi-operator").returncode == 0
    kubelet = FakeKubelet(api, "default")
    with deployed(kube, api, go_mpi_operator(kube)), deployed(kube, api, traincrew(account)):
        writes = Writes(kube, "mpi-operator")
        api.create("default", mpi_job("taken"))
        kubelet.run("taken-worker-0")
        launcher = eventually(functools.partial(_launcher, api, "taken"), LONG)
        kubelet.run(launcher)
        eventually(functools.partial(_is, api, "MPIJob", "taken", "Running"), LONG)
        before = pods_by_uid(api)
        assert writes.of_traincrew() == [], "the Go operator is at work"

        assert "2 running pods are still running" in migrate(kube)
        kubelet.succeed(launcher)
        eventually(functools.partial(_is, api, "MPIJob", "taken", "Succeeded"), LONG)
        assert pods_by_uid(api).items() <= before.items(), "no pod was replaced"
        assert times(writes.of_go())[-1] < times(writes.of_traincrew())[0]


def _launcher(api: Api, job: str) -> Any:
    names = sorted(name for name in api.names("pods", "default") if name.startswith(f"{job}-launcher"))
    return names[0] if names else None
