import contextlib
import functools
import os
import pathlib
import uuid
from collections.abc import Generator, Iterator
from typing import cast

import kubernetes.client
import kubernetes.config
import pytest
from tests.cluster import audit, installation, isolated_namespace, lifecycle_harness, operators
from tests.cluster.api import Api
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.operators import OperatorProcess
from tests.cluster.submitted_job import Submit, SubmittedJob
from tools.kube import cluster

ROOT = pathlib.Path(__file__).parents[2]
MEASURE = "1.32"
"""The Kubernetes version that the embedded API server is compared with."""
INSIDE = os.environ.get("TRAINCREW_OPERATOR") == "inside"
"""The operator runs in the process of the embedded API server."""


@pytest.fixture(scope="session")
def kube(request: pytest.FixtureRequest) -> Iterator[cluster.Cluster]:
    """The cluster of this test run: that of KUBECONFIG if it is set, else a new API server."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # the first start builds the servers and prints its progress
        connected = cluster.connect_with_operator() if INSIDE else cluster.connect()
    with connected:
        yield connected


@pytest.fixture(scope="session")
def core_api(kube: cluster.Cluster) -> kubernetes.client.CoreV1Api:
    """The official Python client, so that the set-up of tests does not depend on our own client."""
    connected = kubernetes.config.new_client_from_config(os.fspath(kube.kubeconfig))
    return kubernetes.client.CoreV1Api(connected)


@pytest.fixture
def namespace(core_api: kubernetes.client.CoreV1Api) -> Iterator[str]:
    """The name of a new namespace. Its deletion is not waited for."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    metadata = kubernetes.client.V1ObjectMeta(name=name)
    core_api.create_namespace(kubernetes.client.V1Namespace(metadata=metadata))
    yield name
    core_api.delete_namespace(name)


COMPARING = (
    "_agree",
    "test_builtins",
    "test_patches_of_kubectl",
    "test_kubelet_streams",
    "test_authorization_kubectl",
    "test_gang_scheduled",
)
"""Parts of the names of files that compare the embedded API server with a real one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the comparisons unless the Kubernetes version is the one that they were written for."""
    if os.environ.get("KUBE", MEASURE) == MEASURE:
        return
    reason = pytest.mark.skip(reason=f"compares with kube-apiserver {MEASURE}")
    for item in items:
        if any(part in item.path.name for part in COMPARING):
            item.add_marker(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, None, None]:
    yield from _skip_on_foreign_clusters()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    yield from _skip_on_foreign_clusters()


def _skip_on_foreign_clusters() -> Generator[None, None, None]:
    try:
        yield
    except cluster.NotOurs as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def api(kube: cluster.Cluster) -> Api:
    """A client of the administrator, with the CRDs installed."""
    return installation.crds(kube)


@pytest.fixture(scope="session")
def operator_kubeconfig(kube: cluster.Cluster, api: Api) -> pathlib.Path:
    """A kubeconfig of the service account in manifests/base/rbac.yaml: the tests use the permissions that are shipped."""
    return installation.rights(kube)


@pytest.fixture(scope="session")
def second_kube() -> Iterator[tuple[cluster.Cluster, Api, pathlib.Path]]:
    """A second API server without an operator, for tests that start operators with flags of their own.

    None of their requests may be forbidden, as for the fixture `operator`.
    """
    with cluster.start_any() as started:
        client = installation.crds(started)
        yield started, client, installation.rights(started)
        audit.assert_operators_had_their_rights(started)


@pytest.fixture
def isolated(second_kube: tuple[cluster.Cluster, Api, pathlib.Path]) -> Iterator[isolated_namespace.IsolatedNamespace]:
    started, client, kubeconfig = second_kube
    with isolated_namespace.created(started, client, f"test-{uuid.uuid4().hex[:10]}", kubeconfig) as fresh:
        yield fresh


@pytest.fixture(scope="session")
def harness(second_kube: tuple[cluster.Cluster, Api, pathlib.Path]) -> Iterator[lifecycle_harness.LifecycleHarness]:
    """Records lifecycles of jobs on the second API server, in parallel and with operators of their own."""
    with lifecycle_harness.running(second_kube[0]) as found:
        yield found


@pytest.fixture(scope="session")
def operator(kube: cluster.Cluster, operator_kubeconfig: pathlib.Path) -> Iterator[OperatorProcess]:
    """The operator with default settings, for all namespaces and the whole run. None of its requests may be forbidden.

    TRAINCREW_OPERATORS=2 starts two, without leader election: all tests but those of one operator's own metrics must pass.
    TRAINCREW_OPERATOR=inside (with KUBE=embedded) starts none: it runs already.
    """
    if INSIDE:
        yield cast(OperatorProcess, None)
        return
    with contextlib.ExitStack() as stack:
        for _ in range(int(os.environ.get("TRAINCREW_OPERATORS", "1")) - 1):
            stack.enter_context(operators.running(operator_kubeconfig))
        yield stack.enter_context(operators.running(operator_kubeconfig))
    audit.assert_operators_had_their_rights(kube)


@pytest.fixture
def kubelet(api: Api, namespace: str) -> FakeKubelet:
    return FakeKubelet(api, namespace)


@pytest.fixture
def submit(operator: OperatorProcess, api: Api, namespace: str) -> Submit:
    """`submit(manifests.job(...))` creates the job in the namespace of the test."""
    return functools.partial(SubmittedJob, api, namespace)
