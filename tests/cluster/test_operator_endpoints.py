"""The operator's HTTP endpoints: who may read the metrics, and the log level at run time."""

from __future__ import annotations

import http.client
import json
import pathlib
import ssl
import urllib.error
import urllib.request

import pytest
import yaml
from tests.cluster import jobs_with_leader
from tests.cluster.api import Api, eventually
from tests.cluster.isolated_namespace import IsolatedNamespace
from tests.cluster.operators import OperatorProcess
from tools.kube import certificates, cluster

from traincrew.validation import crds, rbac_manifests

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PYTORCH = "pytorchjobs.kubeflow.org"


def status(url: str, token: str = "", tls: ssl.SSLContext | None = None) -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=10, context=tls) as answer:
            assert "traincrew_is_leader" in answer.read().decode()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def account_token(isolated: IsolatedNamespace, name: str) -> str:
    assert isolated.kube.kubectl("-n", isolated.namespace, "create", "serviceaccount", name).returncode == 0
    created = isolated.kube.kubectl("-n", isolated.namespace, "create", "token", name)
    assert created.returncode == 0, created.stderr
    return created.stdout.strip()


def allow_reviews(isolated: IsolatedNamespace, tmp_path: pathlib.Path) -> None:
    documents = tmp_path / "metrics.yaml"
    documents.write_text(yaml.safe_dump_all(rbac_manifests.metrics_documents()))
    applied = isolated.kube.kubectl("apply", "-f", str(documents))
    assert applied.returncode == 0, applied.stderr


def test_only_accounts_that_are_allowed_read_the_metrics(isolated: IsolatedNamespace, tmp_path: pathlib.Path) -> None:
    allow_reviews(isolated, tmp_path)
    stranger, reader = account_token(isolated, "stranger"), account_token(isolated, "prometheus")
    account = f"--serviceaccount={isolated.namespace}:prometheus"
    role = ("--clusterrole=traincrew-metrics-reader", account)
    bound = isolated.kube.kubectl("create", "clusterrolebinding", isolated.namespace, *role)
    assert bound.returncode == 0, bound.stderr
    with isolated.operator("--metrics-authentication") as operator:
        url = f"http://127.0.0.1:{operator.metrics_port}/metrics"
        assert status(url) == 401
        assert status(url, "no-token-of-this-cluster") == 401
        assert status(url, stranger) == 403
        assert status(url, reader) == 200
        assert reader not in operator.log


def test_metrics_are_served_over_tls(isolated: IsolatedNamespace, tmp_path: pathlib.Path) -> None:
    authority = certificates.Authority(tmp_path)
    certificate, key = authority.server("metrics")
    certificate.rename(tmp_path / "tls.crt")
    key.rename(tmp_path / "tls.key")
    with isolated.operator("--metrics-cert-dir", str(tmp_path)) as operator:
        trusting = ssl.create_default_context(cafile=authority.path)
        assert status(f"https://127.0.0.1:{operator.metrics_port}/metrics", tls=trusting) == 200


def test_the_log_level_changes_at_run_time(isolated: IsolatedNamespace) -> None:
    with isolated.operator() as operator:
        assert _log_level(operator) == (200, "info\n")
        assert _log_level(operator, "debug") == (200, "debug\n")
        isolated.submit(jobs_with_leader.job("PyTorchJob", 1))
        isolated.kubelet.pod("j-master-0")
        eventually(lambda: "DEBUG   event recorded" in operator.log)

        code, text = _log_level(operator, "verbose")
        assert code == 400
        assert "debug, info, warning, error" in text


def test_only_the_own_host_changes_the_log_level(isolated: IsolatedNamespace) -> None:
    with isolated.operator() as operator:
        code, text = _log_level(operator, "debug", source="127.0.0.2")
        assert code == 403
        assert "port-forward" in text
        assert _log_level(operator) == (200, "info\n")


def _log_level(operator: OperatorProcess, level: str = "", source: str = "127.0.0.1") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", operator.health_port, timeout=10, source_address=(source, 0))
    connection.request("PUT" if level else "GET", "/loglevel", body=level or None)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.fixture
def outdated() -> dict[str, object]:
    """The CRD of an earlier version, without a field that this version writes."""
    definition: dict[str, object] = json.loads(
        json.dumps(next(each for each in crds.crds() if each["metadata"]["name"] == PYTORCH))
    )
    for version in definition["spec"]["versions"]:  # type: ignore[index]
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["why"]
    return definition


def test_an_operator_with_older_crds_says_so_and_waits_for_their_update(outdated: dict[str, object]) -> None:
    with cluster.start() as bare:
        api = Api(bare.kubeconfig)
        api.call("POST", CRDS, outdated)
        eventually(lambda: api.all("pytorchjobs", "default") == [])
        process = OperatorProcess(bare.kubeconfig, "--enable-scheme", "PyTorchJob")
        try:
            reason = f"CRDs are older than this operator: {PYTORCH} has no status.why. Run `traincrew manifests crds"
            eventually(lambda: reason in _unready_reason(process), 60)
            eventually(lambda: _created(api), 60)
            stored = api.call("GET", f"{CRDS}/{PYTORCH}")
            current = next(each for each in crds.crds() if each["metadata"]["name"] == PYTORCH)
            api.call("PUT", f"{CRDS}/{PYTORCH}", {**stored, "spec": current["spec"]})
            process.wait_ready()
            eventually(lambda: api.find("pods", "default", "j-master-0"))
        finally:
            process.stop()


def _created(api: Api) -> bool:
    return bool(api.create("default", jobs_with_leader.job("PyTorchJob", 1)))


def _unready_reason(process: OperatorProcess) -> str:
    try:
        process.fetch(process.health_port, "/readyz")
    except urllib.error.HTTPError as error:
        return error.read().decode()
    except urllib.error.URLError:
        pass
    return ""
