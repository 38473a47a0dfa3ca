"""Twenty random faults while two elastic jobs run: both go on, succeed, leave nothing behind, and their accounts are right."""

from __future__ import annotations

import datetime as dt
import pathlib

import pytest
from tests.cluster.api import Api, Object, eventually
from tests.faults import fault_lists, light_jobs
from tests.faults.faulty_cluster import FaultyCluster
from tests.faults.injection import JOBS, ROLES, Injector
from tests.faults.pod_lives import PodLives
from tests.node import pod_programs

LONG = 300.0
# A connection whose server is killed during the TLS handshake is left to the garbage collector by the client of the tests.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")
PARTS = ("asked", "surplus", "starting", "leaving")


def steps(shared: pathlib.Path, job: str) -> int:
    path = shared / f"steps-{job}"
    return path.stat().st_size if path.exists() else 0


def goes_on(shared: pathlib.Path, job: str) -> None:
    before = steps(shared, job)
    eventually(lambda: steps(shared, job) > before + 20, LONG, because=f"{job} makes no steps after {before}")


def state(api: Api, namespace: str) -> str:
    """For messages of failed tests."""
    pods = [(pod["metadata"], pod["spec"].get("nodeName"), pod["status"].get("phase")) for pod in api.all("pods", namespace)]
    pods = [(meta["name"], meta.get("deletionTimestamp"), *rest) for meta, *rest in pods]
    statuses = [api.get(plural, namespace, name)["status"] for name, plural in JOBS.items()]
    return "\n".join(map(str, (*pods, *statuses)))


@pytest.mark.parametrize("seed", fault_lists.seeds())
def test_elastic_jobs_survive_random_faults(cluster: FaultyCluster, shared: pathlib.Path, seed: int) -> None:
    namespace = f"seed-{seed}"
    cluster.kubectl("create", "namespace", namespace)
    eventually(lambda: cluster.api.find("serviceaccounts", namespace, "default") is not None, LONG)
    # Under OnFailure the kubelet restarts workers, under ExitCode the operator replaces them.
    for job in (light_jobs.torch(shared, "ExitCode" if seed % 2 else "OnFailure"), light_jobs.ring(shared)):
        cluster.api.create(namespace, job)
    lives = PodLives(Api(cluster.kube.kubeconfig), namespace)
    lives.start()
    injector = Injector(cluster, namespace)
    try:
        for name in JOBS:
            goes_on(shared, name)
        for fault in fault_lists.draw(seed):
            injector.inject(fault)
        injector.end_expired(all_of_them=True)
        for name in JOBS:
            goes_on(shared, name)
        (shared / "end").touch()
        for name in JOBS:
            check(cluster.api, namespace, name, injector, lives)
        eventually(lambda: not cluster.api.all("pods", namespace), LONG, because="pods are left")
    except Exception as error:
        faults = "\n".join(injector.report)
        message = f"Run it again with {fault_lists.SEEDS_VARIABLE}={seed}. Faults:\n{faults}\n{state(cluster.api, namespace)}"
        raise AssertionError(f"{error}\n{message}\n{cluster.operator.log[-3000:]}") from error
    finally:
        injector.end_expired(all_of_them=True)
        (shared / "end").touch()
        lives.stop()
        cluster.api.delete("namespaces", "", namespace)
        eventually(lambda: cluster.api.find("namespaces", "", namespace) is None, LONG)


def check(api: Api, namespace: str, name: str, injector: Injector, lives: PodLives) -> None:
    job = eventually(lambda: finished(api.get(JOBS[name], namespace, name)), LONG, because=f"{name} does not end")
    status = job["status"]
    assert pod_programs.condition(job, "Succeeded"), status
    restarts = status.get("restarts", {})
    policy = job["spec"][ROLES[name]]["Worker"]["restartPolicy"]
    # Those who lose worker 0 fail as well. Under OnFailure each restart by the kubelet counts, as in the Go operator.
    assert restarts.get("charged", 0) <= injector.kills[name] or (name, policy) == ("torch", "OnFailure"), restarts
    assert job["metadata"]["generation"] == 1 + injector.scaled[name], "only the faults have changed the spec"
    assert lives.most[name] <= light_jobs.BOUNDS[1], "more workers than the job allows"
    account = status["workerSeconds"]
    end = dt.datetime.fromisoformat(status["completionTime"])
    counted, lived = sum(account.get(part, 0) for part in PARTS), lives.seconds(name, end)
    # The operator counts whole seconds, and sees late what happens while it or the API server is down.
    allowed = 0.01 * lived + 2 + injector.blind_seconds
    print(f"{name}: {counted} of {lived:.0f} worker seconds, blind {injector.blind_seconds:.0f} s, {restarts}, {account}")
    assert abs(counted - lived) <= allowed, (account, lived)
    assert sum(account.get("resizes", {}).values()) <= 2 * fault_lists.COUNT, account


def finished(job: Object) -> Object | None:
    return job if any(pod_programs.condition(job, each) for each in ("Succeeded", "Failed")) else None
