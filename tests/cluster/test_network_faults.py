"""Faults of the network and the API server: the final state is the same, nothing is lost or duplicated."""

from __future__ import annotations

import concurrent.futures
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

import pytest
from tests.cluster import lifecycle
from tests.cluster.lifecycle import FinalState, KindVersion
from tests.cluster.lifecycle_harness import Disturbance, LifecycleHarness
from tests.cluster.proxy import DelayedResponse, DroppedConnection, Fault, InjectedResponse, ProxiedCall, ProxyPort

PYTORCH, TENSORFLOW, XGBOOST, PADDLE, JAX, MPI, MPI_SSH = lifecycle.ALL_KINDS
WRITES = ("create", "patch", "update", "delete")


@pytest.fixture(scope="module")
def normal(harness: LifecycleHarness) -> Callable[[KindVersion], FinalState]:
    """How a life ends without disturbance."""
    known: dict[KindVersion, FinalState] = {}

    def found(kind: KindVersion) -> FinalState:
        if kind not in known:
            known[kind] = harness.record(kind).final_state
        return known[kind]

    return found


def every(count: int, fault: Fault, *verbs: str) -> Disturbance:
    """One call in so many of those verbs meets that fault; the same call asked again is another one."""

    @contextlib.contextmanager
    def disturbance(proxy_port: ProxyPort) -> Iterator[None]:
        seen = 0

        def fault_for(call: ProxiedCall) -> Fault:
            nonlocal seen
            if call.verb not in verbs:
                return None
            seen += 1
            return fault if seen % count == 0 else None

        proxy_port.fault_for = fault_for
        yield

    return disturbance


@contextlib.contextmanager
def watches_cut(proxy_port: ProxyPort) -> Iterator[None]:
    """Ten times a second."""
    over = threading.Event()

    def cut() -> None:
        while not over.wait(0.1):
            proxy_port.cut_watches()

    thread = threading.Thread(target=cut, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


SOON = (("Retry-After", "1"),)


@pytest.mark.parametrize(
    ("kind", "disturbance"),
    [
        pytest.param(PYTORCH, every(3, InjectedResponse(500, "InternalError"), *WRITES, "list"), id="500 for every third call"),
        pytest.param(MPI, every(2, InjectedResponse(500, "InternalError"), *WRITES), id="500 for every second write"),
        pytest.param(TENSORFLOW, every(4, InjectedResponse(503, "ServiceUnavailable"), *WRITES, "list", "watch"), id="503"),
        pytest.param(XGBOOST, every(5, InjectedResponse(429, "TooManyRequests", SOON), *WRITES, "list", "watch"), id="429"),
        pytest.param(JAX, every(2, InjectedResponse(409, "Conflict"), "patch"), id="409 for every second patch"),
        pytest.param(MPI_SSH, every(2, InjectedResponse(409, "Conflict"), "patch", "delete"), id="409 for patches and deletes"),
        pytest.param(PYTORCH, every(2, InjectedResponse(410, "Expired"), "watch"), id="410 for every second watch"),
        pytest.param(PADDLE, every(2, DroppedConnection(after=False), *WRITES, "list"), id="every second request lost"),
        pytest.param(PYTORCH, every(2, DroppedConnection(after=True), *WRITES, "list"), id="every second answer lost"),
        pytest.param(
            MPI, every(2, DroppedConnection(after=True), *WRITES, "list"), id="every second answer lost with config maps"
        ),
        pytest.param(
            MPI_SSH, every(3, DroppedConnection(after=True), *WRITES, "watch"), id="every third answer lost with a batch Job"
        ),
        pytest.param(TENSORFLOW, every(2, DelayedResponse(0.4), *WRITES, "list"), id="slow answers"),
        pytest.param(MPI, every(3, DelayedResponse(1.0), "patch", "create"), id="very slow answers"),
        pytest.param(PYTORCH, watches_cut, id="watches cut"),
        pytest.param(MPI_SSH, watches_cut, id="many watches cut"),
    ],
)
def test_it_comes_to_the_same_end(
    harness: LifecycleHarness, normal: Callable[[KindVersion], FinalState], kind: KindVersion, disturbance: Disturbance
) -> None:
    expected = normal(kind)

    found = harness.record_with(kind, expected.events, disturbance)

    lifecycle.assert_same(found.final_state, expected, str(kind))


def test_it_comes_to_the_same_end_though_the_api_server_is_killed_in_the_midst_of_it(
    harness: LifecycleHarness, normal: Callable[[KindVersion], FinalState]
) -> None:
    expected = normal(PYTORCH)
    died = threading.Event()
    left = ["create pods", "delete pods"]
    starting = threading.Lock()

    def kill() -> None:
        with starting:  # it serves before its start has been seen: killed then, the wait for its start would not end
            harness.kube.kill_apiserver()
        died.set()

    def killing(call: ProxiedCall) -> Fault:
        if str(call).startswith(tuple(left[:1])):
            left.pop(0)
            return DroppedConnection(after=True, then=kill)
        return None

    @contextlib.contextmanager
    def disturbance(proxy_port: ProxyPort) -> Iterator[None]:
        proxy_port.fault_for = killing
        yield

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        playing = pool.submit(harness.record_with, PYTORCH, expected.events, disturbance)
        while not playing.done():
            # It must be started from the main thread, for it ends with the thread that started it.
            if died.wait(0.1):
                died.clear()
                with starting:
                    harness.kube.start_apiserver()

    assert not left
    lifecycle.assert_same(playing.result().final_state, expected, "the API server was killed")


def test_a_version_that_the_api_server_no_longer_knows_is_followed_by_a_new_list(harness: LifecycleHarness) -> None:
    with harness.driver() as driver, harness.proxy.proxy_port() as proxy_port:
        operator = harness.operator(proxy_port, driver, PYTORCH)
        try:
            driver.api.create(driver.namespace, PYTORCH.job())
            driver.kubelet.pod("j-worker-0")
            proxy_port.close()
            body = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}}
            driver.api.patch("pytorchjobs", driver.namespace, "j", body)
            driver.api.delete("pods", driver.namespace, "j-worker-0", grace=0)
            harness.kube.restart_apiserver()  # what it remembers of changes begins anew
            proxy_port.open()

            driver.kubelet.run("j-master-0", "j-worker-0", "j-worker-1", "j-worker-2")
            driver.cache.until(lambda: state(driver, "Running") == "True")
        finally:
            operator.signal(signal.SIGTERM)
            operator.wait()
        assert proxy_port.expired > 0


def state(driver: lifecycle.LifecycleDriver, type: str) -> str:
    job = driver.cache.find("pytorchjobs", driver.namespace, "j") or {}
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((entry["status"] for entry in conditions if entry["type"] == type), "")
