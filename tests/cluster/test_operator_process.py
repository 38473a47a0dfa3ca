"""The operator as a process: endpoints, flags and leader election."""

from __future__ import annotations

import base64
import json
import pathlib
import signal
import subprocess
import sys
import urllib.error
from collections.abc import Iterator

import pytest
from tests.cluster import audit, installation, jobs_with_leader, lifecycle, operators
from tests.cluster.api import Api, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.lifecycle_harness import LifecycleHarness
from tests.cluster.operators import OperatorProcess
from tests.cluster.proxy import DelayedResponse, InjectedResponse
from tools.kube import cluster

from traincrew.validation import crds
from traincrew.validation.crd_install_command import INSTALL

ROOT = pathlib.Path(__file__).parents[2]
LEASE = "1ca428e5.training-operator.kubeflow.org"
PYTORCH = lifecycle.ALL_KINDS[0]
NAMES = ("j-master-0", "j-worker-0")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JAX = "jaxjobs.kubeflow.org"


@pytest.fixture(scope="module")
def quiet() -> Iterator[cluster.Cluster]:
    """An API server on which no other operator runs."""
    with cluster.start_bootstrapped() as kube:
        installation.crds(kube)
        for name in ("one", "two"):
            assert kube.kubectl("create", "namespace", name).returncode == 0
        yield kube
        audit.assert_operators_had_their_rights(kube)


@pytest.fixture(scope="module")
def there(quiet: cluster.Cluster) -> Api:
    return Api(quiet.kubeconfig)


@pytest.fixture(scope="module")
def account(quiet: cluster.Cluster) -> pathlib.Path:
    return quiet.token_kubeconfig("kubeflow", "traincrew")


@pytest.mark.checklist(199)
def test_metrics_count_jobs_and_the_health_endpoints_answer(
    operator: OperatorProcess, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    api.create(namespace, jobs_with_leader.job("PyTorchJob", 1))
    kubelet.run("j-master-0", "j-worker-0")
    kubelet.fail("j-worker-0", code=1)
    eventually(lambda: counter(operator, "restarted", namespace) == 1)
    kubelet.run("j-worker-0")
    kubelet.succeed("j-master-0")
    api.create(namespace, jobs_with_leader.job("PyTorchJob", 1, "Never", name="k", run={"ttlSecondsAfterFinished": 0}))
    kubelet.run("k-master-0")
    kubelet.fail("k-master-0", code=1)

    wanted = {"created": 2.0, "successful": 1.0, "failed": 1.0, "restarted": 1.0, "deleted": 1.0}
    eventually(lambda: {name: counter(operator, name, namespace) for name in wanted} == wanted)
    assert "ok" in operator.fetch(operator.health_port, "/healthz")
    assert "ok" in operator.fetch(operator.health_port, "/readyz")


def counter(operator: OperatorProcess, name: str, namespace: str) -> float:
    wanted = f'training_operator_jobs_{name}_total{{framework="pytorch",job_namespace="{namespace}"}}'
    other = f'training_operator_jobs_{name}_total{{job_namespace="{namespace}",framework="pytorch"}}'
    lines = [line for line in operator.metrics().splitlines() if line.startswith((wanted, other))]
    return float(lines[0].split()[-1]) if lines else 0.0


@pytest.mark.checklist(200)
def test_only_the_named_namespace_is_served(there: Api, account: pathlib.Path) -> None:
    with operators.running(account, "--namespace", "one"):
        for namespace in ("one", "two"):
            there.create(namespace, jobs_with_leader.job("JAXJob", 1, name="place"))
        eventually(lambda: there.find("pods", "one", "place-worker-0"))
        consistently(lambda: "status" not in there.get("jaxjobs", "two", "place") and not there.names("pods", "two"))


@pytest.mark.checklist(201)
def test_only_the_enabled_kind_is_served(there: Api, account: pathlib.Path) -> None:
    with operators.running(account, "--enable-scheme", "tfjob", "--namespace", "one"):
        there.create("one", jobs_with_leader.job("PyTorchJob", 1, name="scheme"))
        there.create("one", jobs_with_leader.job("TFJob", 1, name="scheme-tf"))
        eventually(lambda: there.find("pods", "one", "scheme-tf-chief-0"))
        consistently(lambda: "status" not in there.get("pytorchjobs", "one", "scheme"))


@pytest.mark.checklist(202)
def test_one_of_two_acts_and_the_other_takes_over(quiet: cluster.Cluster, there: Api, account: pathlib.Path) -> None:
    flags = ("--leader-elect", "--namespace", "one")
    with operators.running(account, *flags), operators.running(account, *flags):
        holder = eventually(lambda: there.get("leases", "kubeflow", LEASE)["spec"]["holderIdentity"])
        mark = quiet.audit_size()
        there.create("one", jobs_with_leader.job("JAXJob", 1, name="led"))
        eventually(lambda: there.find("pods", "one", "led-worker-0"))
        assert there.get("leases", "kubeflow", LEASE)["spec"]["holderIdentity"] == holder
        writes = [entry for entry in quiet.audit(since=mark) if entry["verb"] == "create" and _of(entry, "pods")]
        assert len(writes) == 1


def _of(entry: dict[str, object], plural: str) -> bool:
    ref = entry.get("objectRef")
    return isinstance(ref, dict) and ref.get("resource") == plural and "(operator)" in str(entry.get("userAgent"))


def test_a_stopped_leader_releases_the_lease_at_once(there: Api, account: pathlib.Path) -> None:
    flags = ("--leader-elect", "--namespace", "two", "--leader-election-id", "handover")
    first = OperatorProcess(account, *flags)
    first.wait_ready()
    holder = eventually(lambda: there.get("leases", "kubeflow", "handover")["spec"]["holderIdentity"])

    assert first.stop() == 0

    assert not there.get("leases", "kubeflow", "handover")["spec"].get("holderIdentity")
    with operators.running(account, *flags):
        eventually(lambda: there.get("leases", "kubeflow", "handover")["spec"]["holderIdentity"] not in ("", holder))


def test_after_a_leader_is_killed_the_other_takes_over(there: Api, account: pathlib.Path) -> None:
    flags = ("--leader-elect", "--namespace", "two", "--leader-election-id", "killed")
    first = OperatorProcess(account, *flags)
    first.wait_ready()
    eventually(lambda: there.get("leases", "kubeflow", "killed")["spec"]["holderIdentity"])
    with operators.running(account, *flags):
        first.stop(signal.SIGKILL)
        there.create("two", jobs_with_leader.job("JAXJob", 1, name="after"))
        eventually(lambda: there.find("pods", "two", "after-worker-0"), 60)


def test_a_leader_that_cannot_renew_its_lease_ends(harness: LifecycleHarness) -> None:
    with harness.driver() as driver, harness.proxy.proxy_port() as proxy_port:
        flags = ("--leader-elect", "--leader-election-id", driver.namespace, "--leader-election-namespace", driver.namespace)
        operator = harness.operator(proxy_port, driver, PYTORCH, *flags)
        driver.api.create(driver.namespace, PYTORCH.job())
        driver.kubelet.pod("j-master-0")

        proxy_port.fault_for = lambda call: InjectedResponse(500, "InternalError") if call.resource == "leases" else None

        assert operator.wait(60) == 1


def test_at_shutdown_pending_work_is_finished_and_the_lease_is_released(harness: LifecycleHarness) -> None:
    with harness.driver() as driver, harness.proxy.proxy_port() as proxy_port:
        proxy_port.fault_for = lambda call: DelayedResponse(1.0) if call.resource == "pods" else None
        flags = ("--leader-elect", "--leader-election-id", driver.namespace, "--leader-election-namespace", driver.namespace)
        operator = harness.operator(proxy_port, driver, PYTORCH, *flags)
        driver.api.create(driver.namespace, PYTORCH.job())
        eventually(lambda: [call for call in proxy_port.calls if str(call).startswith("create pods")])

        operator.signal(signal.SIGTERM)

        assert operator.wait() == 0
        counted, _ = lifecycle.count_events(driver)
        made = {f"Created pod: {name}" for name in driver.api.names("pods", driver.namespace)}
        assert (
            made
            == {text for reason, text in counted if reason == "SuccessfulCreatePod"}
            == set(map("Created pod: {}".format, NAMES))
        )
        assert "holderIdentity" not in driver.api.get("leases", driver.namespace, driver.namespace)["spec"]


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "traincrew.cli.main", "operator", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_missing_kubeconfig_is_named(tmp_path: pathlib.Path) -> None:
    result = run("--kubeconfig", str(tmp_path / "nowhere"))

    assert result.returncode == 2
    assert "nowhere" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unknown_flag_is_named() -> None:
    result = run("--no-such-flag")

    assert result.returncode == 2
    assert "--no-such-flag" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param("clusters: [", "not valid YAML (line 2", id="no YAML"),
        pytest.param("{}", "has no current-context", id="empty"),
        pytest.param("{current-context: c, contexts: [{name: c, context: {cluster: lost}}]}", "'lost'", id="no such cluster"),
    ],
)
def test_what_is_wrong_with_a_kubeconfig_is_said(tmp_path: pathlib.Path, text: str, hint: str) -> None:
    (tmp_path / "config").write_text(text)

    result = run("--kubeconfig", str(tmp_path / "config"))

    assert result.returncode == 2
    assert str(tmp_path / "config") in result.stderr
    assert hint in result.stderr
    assert "Traceback" not in result.stderr


def test_a_port_in_use_is_named(operator: OperatorProcess, operator_kubeconfig: pathlib.Path) -> None:
    result = run("--kubeconfig", str(operator_kubeconfig), "--metrics-bind-address", f"127.0.0.1:{operator.metrics_port}",
                 "--health-probe-bind-address", "0")  # fmt: skip

    assert result.returncode == 2
    assert f"Cannot listen on 127.0.0.1:{operator.metrics_port}" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unknown_kind_is_named_with_the_known_ones(operator_kubeconfig: pathlib.Path) -> None:
    result = run("--kubeconfig", str(operator_kubeconfig), "--enable-scheme", "mxjob")

    assert result.returncode == 2
    assert "'mxjob'" in result.stderr
    assert "PyTorchJob" in result.stderr


def test_flags_of_the_go_operators_are_taken(there: Api, account: pathlib.Path) -> None:
    go = ("-leader-elect=false", "--webhook-server-port=9443", "--zap-log-level=2", "--threadiness=4", "--kube-api-qps", "50")
    with operators.running(account, *go, "--namespace", "two") as process:
        assert "--webhook-server-port is ignored" in process.log


def test_json_logs_are_json_and_hold_no_key(there: Api, account: pathlib.Path) -> None:
    with operators.running(account, "--log-format", "json", "--log-level", "debug", "--namespace", "one") as process:
        there.create("one", {**jobs_with_leader.job("MPIJob", 1, name="keys"), "apiVersion": "kubeflow.org/v2beta1"})
        secret = eventually(lambda: there.find("secrets", "one", "keys-ssh"))
        lines = [line for line in process.log.splitlines() if line]

        assert all("message" in json.loads(line) for line in lines)
        assert any(json.loads(line).get("job") == "one/keys" for line in lines)
        assert secret["data"]["ssh-privatekey"] not in process.log
        assert base64.b64decode(secret["data"]["ssh-privatekey"]).decode().splitlines()[1] not in process.log
        assert json.loads(account.read_text())["users"][0]["user"]["token"] not in process.log


def test_readiness_names_the_crds_that_are_not_installed_or_deleted() -> None:
    with cluster.start() as bare:
        api, jax = Api(bare.kubeconfig), next(each for each in crds.crds() if each["metadata"]["name"] == JAX)
        process = OperatorProcess(bare.kubeconfig)
        try:
            eventually(lambda: f"CRDs are not installed: {JAX}, mpijobs.kubeflow.org, " in _unready_reason(process))
            eventually(lambda: INSTALL in process.log)
            assert "404" not in process.log
            api.call("POST", CRDS, jax)
            process.wait_ready()
            first, second = process.fetch(process.health_port, "/readyz").splitlines()
            assert first == "ok"
            assert second.startswith("CRDs are not installed: mpijobs.kubeflow.org, ")
            api.call("DELETE", f"{CRDS}/{JAX}")
            eventually(lambda: f"CRDs are not installed: {JAX}, mpijobs.kubeflow.org, " in _unready_reason(process))
        finally:
            process.stop()


def _unready_reason(process: OperatorProcess) -> str:
    """Empty if it is ready, or not listening yet."""
    try:
        process.fetch(process.health_port, "/readyz")
    except urllib.error.HTTPError as error:
        return error.read().decode() if error.code == 503 else ""
    except urllib.error.URLError:
        pass
    return ""
