"""While a Go operator is running, the jobs of its kinds are left to it."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.cluster.manifests import job
from tests.operator.operator_cluster import NAMESPACE, PYTORCH, Cluster, cluster, now
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors, settings
from traincrew.apimachinery import times
from traincrew.apimachinery.patches import last_applied
from traincrew.kinds import KINDS
from traincrew.model.resources import LEASES, NAMESPACES, PODS
from traincrew.operator.metrics import Metrics
from traincrew.operator.run import Clients, Operator

MPI = next(kind.resource for kind in KINDS if kind.kind == "MPIJob")
TRAINING = {"control-plane": "kubeflow-training-operator"}
OPTIONS = settings.Operator(metrics_address="0", health_address="0")


@contextlib.asynccontextmanager
async def running(on: Cluster, options: settings.Operator = OPTIONS) -> AsyncIterator[Operator]:
    stop = asyncio.Event()
    operator = Operator(Clients(on.faulty_client()), KINDS, options, Metrics(), now)
    task = asyncio.create_task(operator.run(stop))
    try:
        await asyncio.sleep(3)
        yield operator
    finally:
        stop.set()
        await task


async def start_go_operator(on: Cluster, labels: dict[str, str], namespace: str = "kubeflow", **container: Any) -> None:
    main = {"name": "operator", "image": "kubeflow/training-operator", **container}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "training-operator-5d4f", "labels": labels},
        "spec": {"containers": [main], "terminationGracePeriodSeconds": 0},
    }
    await on.client.create(PODS, namespace, msgspec.json.encode(body))


async def stop_go_operator(on: Cluster) -> None:
    await on.client.delete(PODS, "kubeflow", "training-operator-5d4f", grace=0)


async def train(on: Cluster, name: str = "j") -> None:
    await on.create(job("PyTorchJob", name, Master=1))


@in_virtual_time
async def test_a_job_waits_until_the_go_operator_is_gone(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        await start_go_operator(on, TRAINING)
        async with running(on) as operator:
            await train(on)
            await asyncio.sleep(300)
            assert await on.pods() == []
            assert "status" not in await on.job()
            assert "pod kubeflow/training-operator-5d4f of training-operator exists" in operator.unready_reason()
            assert "kubectl -n kubeflow scale deployment training-operator --replicas=0" in operator.unready_reason()

            await stop_go_operator(on)
            await asyncio.sleep(3)
            assert await on.pods() == ["j-master-0"]
            assert operator.unready_reason() == ""


@in_virtual_time
async def test_a_job_on_which_nobody_acts_says_why(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        await start_go_operator(on, TRAINING)
        async with running(on):
            await train(on)
            await asyncio.sleep(5)
            assert await on.events() == [], "the Go operator may still act on the job"
            await asyncio.sleep(300)
        ((reason, message),) = await on.events()
    assert reason == "OtherOperatorRunning"
    assert message.startswith("PyTorchJob j is not reconciled: pod kubeflow/training-operator-5d4f of training-operator exists.")


@in_virtual_time
async def test_a_go_operator_that_starts_later_gets_the_running_jobs(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        client = on.faulty_client()
        async with on.operator(client):
            await train(on)
            await asyncio.sleep(3)
            await start_go_operator(on, TRAINING)
            await asyncio.sleep(1)
            before = len(client.calls)
            await on.set_phase("j-master-0", "Running")
            await asyncio.sleep(60)
            assert client.calls[before:] == []
            await stop_go_operator(on)
            await asyncio.sleep(3)
            assert await on.conditions() == ["Created", "Running"]


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"name": "tf-job-operator", "app.kubernetes.io/name": "traincrew"}, id="of traincrew itself"),
        pytest.param({"app": "mpi-operator"}, id="of an operator for another kind"),
        pytest.param({"app": "training"}, id="with other labels"),
    ],
)
@in_virtual_time
async def test_a_pod_does_not_count(tmp_path: pathlib.Path, labels: dict[str, str]) -> None:
    async with cluster(tmp_path) as on:
        await start_go_operator(on, labels)
        async with running(on) as operator:
            await train(on)
            await asyncio.sleep(3)
            assert await on.pods() == ["j-master-0"]
            assert operator.unready_reason() == ""


ONE_NAMESPACE = settings.Operator(namespaces=(NAMESPACE,), own_namespace="operators", metrics_address="0", health_address="0")


@pytest.mark.parametrize("namespace", ["operators", "kubeflow"])
@in_virtual_time
async def test_an_operator_for_one_namespace_sees_a_go_operator_in_its_own_and_in_the_usual_one(
    tmp_path: pathlib.Path, namespace: str
) -> None:
    async with cluster(tmp_path) as on:
        if namespace == "operators":
            await on.client.create(NAMESPACES, None, b'{"metadata": {"name": "operators"}}')
        await start_go_operator(on, TRAINING, namespace)
        async with running(on, ONE_NAMESPACE) as operator:
            await train(on)
            await asyncio.sleep(60)
            assert await on.pods() == []
            assert f"pod {namespace}/training-operator-5d4f of training-operator exists" in operator.unready_reason()
            await on.client.delete(PODS, namespace, "training-operator-5d4f", grace=0)
            await asyncio.sleep(3)
            assert await on.pods() == ["j-master-0"]


@in_virtual_time
async def test_an_operator_for_one_namespace_acts_also_without_a_right_in_others(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        await start_go_operator(on, TRAINING)
        client = on.faulty_client()
        client.fault = lambda call: errors.Forbidden("no") if call.plural == "selfsubjectaccessreviews" else None
        async with on.operator(client, ONE_NAMESPACE):
            await train(on)
            await asyncio.sleep(3)
            assert await on.pods() == ["j-master-0"], "the pod of the Go operator cannot be seen"


@in_virtual_time
async def test_the_flag_reconciles_jobs_beside_a_go_operator(tmp_path: pathlib.Path) -> None:
    options = settings.Operator(metrics_address="0", health_address="0", ignore_other_operators=True)
    async with cluster(tmp_path) as on:
        await start_go_operator(on, TRAINING)
        async with running(on, options):
            await train(on)
            await asyncio.sleep(3)
            assert await on.pods() == ["j-master-0"]


LEASE = settings.Election.name


def elected(name: str = LEASE) -> settings.Operator:
    election = settings.Election(enabled=True, name=name, namespace="kubeflow")
    return settings.Operator(metrics_address="0", health_address="0", election=election)


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        pytest.param(LEASE, [], id="by default"),
        pytest.param("mine", ["--leader-election-id=mine"], id="of the same name"),
        pytest.param("mine", ["-leader-election-id", "mine"], id="of the same name in another word"),
    ],
)
@in_virtual_time
async def test_leader_election_decides_if_both_take_part_in_the_same(tmp_path: pathlib.Path, name: str, flags: list[str]) -> None:
    """Otherwise the one would wait for the Lease, and the other for the end of the pod."""
    async with cluster(tmp_path) as on, running(on, elected(name)) as operator:
        await start_go_operator(on, TRAINING, command=["/manager"], args=["--leader-elect", *flags])
        await train_applied(on)
        await asyncio.sleep(3)
        assert await on.pods() == ["j-master-0"]

        await write_status_as_go_operator(on)
        await asyncio.sleep(3)
        assert "field manager 'manager'" in operator.unready_reason(), "it does not wait for the Lease although it says so"


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        pytest.param("mine", [], id="because of its name"),
        pytest.param(LEASE, ["--leader-election-id=other"], id="because of the name of the other"),
        pytest.param("mine", ["--leader-election-id=mine", "--leader-elect=false"], id="because the other does not take part"),
    ],
)
@in_virtual_time
async def test_another_election_decides_nothing(tmp_path: pathlib.Path, name: str, flags: list[str]) -> None:
    async with cluster(tmp_path) as on:
        await start_go_operator(on, TRAINING, command=["/manager"], args=["--leader-elect", *flags])
        async with running(on, elected(name)) as operator:
            await train(on)
            await asyncio.sleep(60)
            assert await on.pods() == []
            assert "pod kubeflow/training-operator-5d4f of training-operator exists" in operator.unready_reason()


@in_virtual_time
async def test_an_operator_without_leader_election_by_flag_shares_no_lease(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        await start_go_operator(on, {"name": "pytorch-operator"}, args=["--leader-elect"])
        async with running(on, elected()):
            await train(on)
            await asyncio.sleep(60)
            assert await on.pods() == []


def lease(renewed: dt.datetime) -> bytes:
    spec = {"holderIdentity": "elsewhere", "leaseDurationSeconds": 15, "renewTime": times.rfc3339_micro(renewed)}
    meta = {"name": "mpi-operator", "namespace": "kubeflow"}
    return msgspec.json.encode({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec})


@in_virtual_time
async def test_who_holds_the_lease_of_the_mpi_operator_gets_its_jobs(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        await on.client.create(LEASES, "kubeflow", lease(now()))
        async with running(on) as operator:
            await on.client.create(MPI, NAMESPACE, msgspec.json.encode(job("MPIJob", "m", Launcher=1, Worker=1)))
            await train(on)
            for _ in range(20):
                await asyncio.sleep(2)
                found = msgspec.json.decode(await on.client.get(LEASES, "kubeflow", "mpi-operator"))
                found["spec"]["renewTime"] = times.rfc3339_micro(now())
                await on.client.replace(LEASES, "kubeflow", "mpi-operator", msgspec.json.encode(found))
            assert await on.pods() == ["j-master-0"], "PyTorchJobs are not its business"
            assert operator.unready_reason() == ""
            await asyncio.sleep(30)
            assert await on.pods() == ["j-master-0", "m-launcher", "m-worker-0"], "the Lease has expired"


@in_virtual_time
async def test_a_lease_that_was_left_behind_does_not_count(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        await on.client.create(LEASES, "kubeflow", lease(now() - dt.timedelta(days=1)))
        async with running(on):
            await on.client.create(MPI, NAMESPACE, msgspec.json.encode(job("MPIJob", "m", Launcher=1, Worker=1)))
            await asyncio.sleep(3)
            assert await on.pods() == ["m-launcher", "m-worker-0"]


async def train_applied(on: Cluster, name: str = "j", **run: str) -> None:
    """As `kubectl apply` creates it: the embedded API server keeps managed fields from then on."""
    body = job("PyTorchJob", name, run=run or None, Master=1)
    body["metadata"]["annotations"] = {last_applied.ANNOTATION: "{}"}
    await on.create(body)


async def write_status_as_go_operator(on: Cluster, name: str = "j") -> None:
    condition = {
        "type": "Created",
        "status": "True",
        "lastTransitionTime": times.rfc3339(now()),
        "lastUpdateTime": times.rfc3339(now()),
    }
    patch = {"status": {"conditions": [condition], "startTime": times.rfc3339(now())}}
    manager = on.control_plane.system_client("manager")
    await manager.patch(PYTORCH, NAMESPACE, name, msgspec.json.encode(patch), subresource="status")


@in_virtual_time
async def test_an_operator_whose_statuses_are_seen_counts_for_five_minutes(tmp_path: pathlib.Path) -> None:
    """It has no pod: it runs outside of the cluster."""
    async with cluster(tmp_path) as on, running(on) as operator:
        await train_applied(on, managedBy="kueue.x-k8s.io/multikueue")
        await write_status_as_go_operator(on)
        await asyncio.sleep(3)
        assert "field manager 'manager'" in operator.unready_reason()
        await train(on, "second")
        await asyncio.sleep(290)
        assert await on.pods() == []
        await asyncio.sleep(20)
        assert await on.pods() == ["second-master-0"]


@in_virtual_time
async def test_the_statuses_that_a_go_operator_wrote_do_not_outlive_its_pod(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        await start_go_operator(on, TRAINING)
        async with running(on) as operator:
            await train_applied(on)
            await write_status_as_go_operator(on)
            await asyncio.sleep(3)
            assert await on.pods() == []
            await stop_go_operator(on)
            await asyncio.sleep(3)
            assert operator.unready_reason() == ""
            assert await on.pods() == ["j-master-0"]

            await asyncio.sleep(3)
            await write_status_as_go_operator(on)
            await asyncio.sleep(3)
            assert "field manager 'manager'" in operator.unready_reason(), "another one runs outside of the cluster"


@in_virtual_time
async def test_a_pod_that_has_failed_does_not_explain_a_status(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        await start_go_operator(on, TRAINING)
        async with running(on) as operator:
            failed = msgspec.json.encode({"status": {"phase": "Failed"}})
            await on.client.patch(PODS, "kubeflow", "training-operator-5d4f", failed, subresource="status")
            await train_applied(on, managedBy="kueue.x-k8s.io/multikueue")
            await asyncio.sleep(3)
            assert operator.unready_reason() == "", "an evicted pod may stay for days"
            await write_status_as_go_operator(on)
            await asyncio.sleep(3)
            assert "field manager 'manager'" in operator.unready_reason()
