"""The real kubeflow-training SDK, unmodified, on jobs that the operator runs; the test plays the kubelet."""

from __future__ import annotations

import os
import pathlib
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kubeflow.training import TrainingClient
from tests.cluster import led, logserver, manifests
from tests.cluster.api import Api, eventually
from tests.cluster.kubelet import Kubelet
from tools.kube import cluster

pytestmark = pytest.mark.usefixtures("operator")

MASTERS = {kind: led.leader(kind) for kind in ("TFJob", "PyTorchJob", "XGBoostJob", "JAXJob", "MPIJob")}


@pytest.fixture
def sdk(kube: cluster.Cluster, namespace: str) -> Any:
    return TrainingClient(config_file=os.fspath(kube.kubeconfig), namespace=namespace)


@pytest.fixture
def node(api: Api, tmp_path: pathlib.Path) -> Iterator[logserver.Node]:
    with logserver.serving(api, f"node-{uuid.uuid4().hex[:8]}", tmp_path) as found:
        yield found


def test_function() -> None:
    print("training")


test_function.__test__ = False  # type: ignore[attr-defined]  # it is sent to the cluster, not run here


@pytest.mark.contract(190)
def test_a_job_made_from_a_function_succeeds_and_the_wait_returns_it(sdk: Any, kubelet: Kubelet, namespace: str) -> None:
    sdk.create_job(name="j", train_func=test_function, num_workers=2, base_image="train:1")
    done: list[Any] = []
    waiting = threading.Thread(target=lambda: done.append(sdk.wait_for_job_conditions("j", polling_interval=1, wait_timeout=60)))
    kubelet.run("j-master-0", "j-worker-0")
    waiting.start()
    kubelet.succeed("j-master-0", "j-worker-0")
    waiting.join(60)

    assert done, "the SDK's wait did not return"
    assert done[0].metadata.name == "j"
    assert {entry.type for entry in done[0].status.conditions if entry.status == "True"} >= {"Succeeded"}


@pytest.mark.contract(191)
@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "XGBoostJob", "PaddleJob", "JAXJob"])
def test_get_job_works_for_a_manifest_without_run_policy(sdk: Any, api: Api, namespace: str, kind: str) -> None:
    api.create(namespace, led.job(kind))

    assert sdk.get_job("j", job_kind=kind).metadata.name == "j"


@pytest.mark.contract(192)
@pytest.mark.parametrize("kind", MASTERS)
def test_the_master_is_exactly_one_pod(sdk: Any, api: Api, kubelet: Kubelet, namespace: str, kind: str) -> None:
    api.create(namespace, led.job(kind, 2))
    for name in led.pods(kind, 2):
        kubelet.pod(name)

    assert sdk.get_job_pod_names("j", is_master=True) == [MASTERS[kind]]


@pytest.mark.contract(193)
def test_a_replica_is_found_by_type_and_index(sdk: Any, api: Api, kubelet: Kubelet, namespace: str) -> None:
    api.create(namespace, led.job("PyTorchJob", 3))
    for name in led.pods("PyTorchJob", 3):
        kubelet.pod(name)

    assert sdk.get_job_pod_names("j", replica_type="worker", replica_index=1) == ["j-worker-1"]


@pytest.mark.contract(194)
@pytest.mark.parametrize("kind", MASTERS)
def test_the_masters_log_is_read_by_container_name(
    sdk: Any, api: Api, kubelet: Kubelet, namespace: str, node: logserver.Node, kind: str
) -> None:
    api.create(namespace, led.job(kind, 1))
    master = MASTERS[kind]
    kubelet.pod(master)
    kubelet.bind(master, node.name)
    kubelet.run(master)
    node.logs[master, manifests.CONTAINERS[kind]] = "epoch 1\nepoch 2\n"

    logs, _ = sdk.get_job_logs("j", job_kind=kind)

    assert logs == {master: "epoch 1\nepoch 2\n"}


@pytest.mark.contract(195)
def test_a_verbose_log_has_the_events(sdk: Any, api: Api, kubelet: Kubelet, namespace: str, node: logserver.Node) -> None:
    api.create(namespace, led.job("PyTorchJob", 1))
    kubelet.pod("j-master-0")
    kubelet.bind("j-master-0", node.name)
    kubelet.run("j-master-0")
    node.logs["j-master-0", "pytorch"] = "x"

    def told() -> Any:
        _, events = sdk.get_job_logs("j", verbose=True)
        return events.get("pytorchjob/j")

    assert any("Created pod: j-master-0" in line for line in eventually(told))


@pytest.mark.contract(196)
def test_a_job_that_succeeded_is_no_longer_running(sdk: Any, api: Api, kubelet: Kubelet, namespace: str) -> None:
    api.create(namespace, led.job("PyTorchJob", 1))
    kubelet.run("j-master-0", "j-worker-0")
    eventually(lambda: sdk.is_job_running("j"))
    assert not sdk.is_job_succeeded("j")

    kubelet.succeed("j-master-0")

    eventually(lambda: sdk.is_job_succeeded("j"))
    assert not sdk.is_job_running("j")


@pytest.mark.contract(197)
def test_update_scales_and_delete_removes(sdk: Any, api: Api, kubelet: Kubelet, namespace: str) -> None:
    api.create(namespace, led.job("PyTorchJob", 1))
    kubelet.pod("j-worker-0")
    job = sdk.get_job("j")
    job.spec.pytorch_replica_specs["Worker"].replicas = 2

    sdk.update_job(job, "j")

    kubelet.pod("j-worker-1")
    sdk.delete_job("j")
    assert api.find("pytorchjobs", namespace, "j") is None


@pytest.mark.contract(198)
def test_the_wait_raises_when_the_job_fails(sdk: Any, api: Api, kubelet: Kubelet, namespace: str) -> None:
    api.create(namespace, led.job("PyTorchJob", 1, "Never"))
    kubelet.run("j-master-0", "j-worker-0")
    kubelet.fail("j-worker-0", code=1)

    with pytest.raises(RuntimeError, match="Failed"):
        sdk.wait_for_job_conditions("j", polling_interval=1, wait_timeout=30)


@pytest.mark.contract(9)
@led.every_kind
def test_nothing_is_written_into_the_spec(api: Api, kubelet: Kubelet, namespace: str, kind: str) -> None:
    body = led.job(kind, 1)
    for spec in body["spec"][manifests.FIELDS[kind]].values():
        if kind != "MPIJob":
            del spec["replicas"]
    posted = api.create(namespace, body)["spec"]
    kubelet.run(*led.pods(kind, 1))
    eventually(lambda: api.get(manifests_plural(kind), namespace, "j")["status"]["conditions"][-1]["type"] == "Running")

    assert api.get(manifests_plural(kind), namespace, "j")["spec"] == posted
    for role, spec in posted[manifests.FIELDS[kind]].items():
        assert set(spec) <= {"template", "replicas"}, role
        assert spec["template"]["spec"]["containers"][0] == {"name": manifests.CONTAINERS[kind], "image": "train:1"}


def manifests_plural(kind: str) -> str:
    return f"{kind.lower()}s"
