"""`traincrew migrate`: from a Go operator to traincrew and back. The test plays the kubelet of the operators' pods."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
from collections.abc import Iterator

import pytest
from tests.cluster import controller_manager, installed_operators, jobs_with_leader, operators
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.installed_operators import GO_LABELS, NAMESPACE, OWN_LABELS, deployment
from tools.kube import cluster

WEBHOOK = "validator.training-operator.kubeflow.org"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"


@pytest.fixture
def kube() -> Iterator[cluster.Cluster]:
    controllers = ("deployment", "replicaset", "serviceaccount")
    with cluster.start_bootstrapped() as started, controller_manager.running(started, *controllers):
        installed_operators.install(started)
        yield started


@pytest.fixture
def api(kube: cluster.Cluster) -> Api:
    return Api(kube.kubeconfig)


def pod_of(api: Api, labels: dict[str, str]) -> str:
    """The name of the pod that the Deployment has created."""
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    found: list[Object] = eventually(lambda: api.all("pods", NAMESPACE, selector))
    return str(found[0]["metadata"]["name"])


def start_go_operator(kube: cluster.Cluster, api: Api) -> str:
    installed_operators.apply(kube, deployment("training-operator", GO_LABELS))
    name = pod_of(api, GO_LABELS)
    FakeKubelet(api, NAMESPACE).run(name)
    return name


def start_webhook(api: Api) -> None:
    rule: Object = {"apiGroups": ["kubeflow.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pytorchjobs"]}
    service = {"name": "training-operator", "namespace": NAMESPACE, "path": "/validate-kubeflow-org-v1-pytorchjob"}
    hook: Object = {
        "name": "validator.pytorchjob.training-operator.kubeflow.org",
        "rules": [rule],
        "clientConfig": {"service": service},
    }
    hook |= {"failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 1}
    tolerant = {**hook, "name": "tolerant.training-operator.kubeflow.org", "failurePolicy": "Ignore"}
    meta = {"name": WEBHOOK}
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": meta}
    api.call("POST", WEBHOOKS, {**body, "webhooks": [hook, tolerant]})


def failure_policies(api: Api) -> list[str]:
    return [each["failurePolicy"] for each in api.call("GET", f"{WEBHOOKS}/{WEBHOOK}")["webhooks"]]


def replicas(api: Api, name: str) -> int:
    return int(api.call("GET", f"{DEPLOYMENTS}/{name}")["spec"]["replicas"])


@contextlib.contextmanager
def traincrew_installed(kube: cluster.Cluster, api: Api) -> Iterator[None]:
    installed_operators.apply(kube, deployment("traincrew", OWN_LABELS, "operator", "--leader-elect"))
    with operators.running(kube.token_kubeconfig(NAMESPACE, "traincrew"), "--leader-elect", ready=False):
        FakeKubelet(api, NAMESPACE).run(pod_of(api, OWN_LABELS), bind=False)
        yield


def test_jobs_are_taken_over_when_the_go_operator_is_gone_and_given_back(kube: cluster.Cluster, api: Api) -> None:
    go_pod = start_go_operator(kube, api)
    api.create("default", jobs_with_leader.job("PyTorchJob", 1))
    start_webhook(api)
    kubelet = FakeKubelet(api, NAMESPACE)
    with traincrew_installed(kube, api), concurrent.futures.ThreadPoolExecutor(1) as pool:
        migration = pool.submit(installed_operators.traincrew, kube, "migrate", "--apply")
        eventually(lambda: api.get("pods", NAMESPACE, go_pod)["metadata"].get("deletionTimestamp"), 60)
        consistently(lambda: not api.names("pods", "default"), 3)
        kubelet.gone(go_pod)
        result = migration.result()
        assert result.returncode == 0, result.stderr
        assert "scale training-operator (kubeflow/training-operator) to 0" in result.stdout
        eventually(lambda: api.names("pods", "default") == {"j-master-0", "j-worker-0"})
        api.create(
            "default", jobs_with_leader.job("PyTorchJob", 1, name="later")
        )  # a webhook without a server does not reject it

        assert failure_policies(api) == ["Ignore", "Ignore"]
        assert 'docs/migrating.md, "Remove the Go operator"' in result.stdout

        installed_operators.apply(kube, deployment("mpi-operator", {"app": "mpi-operator"}, replicas=0))
        back = pool.submit(installed_operators.traincrew, kube, "migrate", "--back", "--apply")
        go_pod = pod_of(api, GO_LABELS)
        consistently(lambda: failure_policies(api) == ["Ignore", "Ignore"], 3)
        assert not back.done(), "the Go operator is not ready"
        kubelet.run(go_pod)
        done = back.result()
    assert done.returncode == 0, done.stdout + done.stderr
    assert failure_policies(api) == ["Fail", "Ignore"]
    assert [replicas(api, each) for each in ("traincrew", "training-operator", "mpi-operator")] == [0, 1, 0]
    assert "migration" not in str(api.call("GET", f"{WEBHOOKS}/{WEBHOOK}")["metadata"].get("annotations"))
    assert "migration" not in str(api.call("GET", f"{DEPLOYMENTS}/training-operator")["metadata"].get("annotations"))


def test_the_go_operator_to_start_is_named_if_migrate_has_stopped_none(kube: cluster.Cluster, api: Api) -> None:
    installed_operators.apply(kube, deployment("training-operator", GO_LABELS, replicas=0))
    asked = installed_operators.traincrew(kube, "migrate", "--back", "--apply")
    assert asked.returncode == 1
    assert "has stopped none of kubeflow/training-operator. Name it: --start NAMESPACE/NAME." in asked.stderr
    assert replicas(api, "training-operator") == 0

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        back = pool.submit(installed_operators.traincrew, kube, "migrate", "--back", "--apply", "--start", "training-operator")
        FakeKubelet(api, NAMESPACE).run(pod_of(api, GO_LABELS))
        done = back.result()
    assert done.returncode == 0, done.stdout + done.stderr
    assert replicas(api, "training-operator") == 1


def test_without_apply_nothing_is_changed(kube: cluster.Cluster, api: Api) -> None:
    start_go_operator(kube, api)
    start_webhook(api)
    installed_operators.apply(kube, deployment("traincrew", OWN_LABELS, "operator"))
    pod_of(api, OWN_LABELS)
    mark = kube.audit_size()

    result = installed_operators.traincrew(kube, "migrate")

    assert result.returncode == 0, result.stderr
    assert "kubectl -n kubeflow scale deployment training-operator --replicas=0" in result.stdout
    assert f"set failurePolicy of validatingwebhookconfigurations {WEBHOOK} to Ignore" in result.stdout
    assert "Nothing was changed" in result.stdout
    document = json.loads(installed_operators.traincrew(kube, "migrate", "-o", "json").stdout)
    assert document["applied"] is False
    assert "kubectl -n kubeflow scale deployment training-operator --replicas=0" in [
        each["command"] for each in document["steps"]
    ]
    names = installed_operators.traincrew(kube, "migrate", "-o", "name").stdout.splitlines()
    assert "deployment.apps/training-operator" in names
    ours = [entry for entry in kube.audit(since=mark) if "(migrate)" in str(entry.get("userAgent"))]
    assert ours
    assert {entry["verb"] for entry in ours} <= {"get", "list"}


def test_traincrew_must_be_installed_first(kube: cluster.Cluster, api: Api) -> None:
    start_go_operator(kube, api)

    result = installed_operators.traincrew(kube, "migrate", "--apply")

    assert result.returncode == 1
    assert "traincrew is not installed. Install it first." in result.stderr
    assert api.call("GET", f"{DEPLOYMENTS}/training-operator")["spec"]["replicas"] == 1
