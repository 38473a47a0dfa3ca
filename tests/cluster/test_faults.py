"""A network and an API server that misbehave: the job comes to the same end, nothing lost, nothing doubled."""

from __future__ import annotations

import concurrent.futures
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

import pytest
from tests.cluster import lives
from tests.cluster.lives import Kind, Portrait
from tests.cluster.proxy import Answer, Call, Fate, Gate, Late, Lost
from tests.cluster.theatre import Theatre, Trouble

PYTORCH, TENSORFLOW, XGBOOST, PADDLE, JAX, MPI, MPI_SSH = lives.EVERY
WRITES = ("create", "patch", "update", "delete")


@pytest.fixture(scope="module")
def normal(house: Theatre) -> Callable[[Kind], Portrait]:
    """How a life ends without trouble."""
    known: dict[Kind, Portrait] = {}

    def found(kind: Kind) -> Portrait:
        if kind not in known:
            known[kind] = house.perform(kind).portrait
        return known[kind]

    return found


def every(count: int, fate: Fate, *verbs: str) -> Trouble:
    """One call in so many of those verbs meets that fate; the same call asked again is another one."""

    @contextlib.contextmanager
    def trouble(gate: Gate) -> Iterator[None]:
        seen = 0

        def judge(call: Call) -> Fate:
            nonlocal seen
            if call.verb not in verbs:
                return None
            seen += 1
            return fate if seen % count == 0 else None

        gate.judge = judge
        yield

    return trouble


@contextlib.contextmanager
def watches_cut(gate: Gate) -> Iterator[None]:
    """Ten times a second."""
    over = threading.Event()

    def cut() -> None:
        while not over.wait(0.1):
            gate.cut_watches()

    thread = threading.Thread(target=cut, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


SOON = (("Retry-After", "1"),)


@pytest.mark.parametrize(
    ("kind", "trouble"),
    [
        pytest.param(PYTORCH, every(3, Answer(500, "InternalError"), *WRITES, "list"), id="500 for every third call"),
        pytest.param(MPI, every(2, Answer(500, "InternalError"), *WRITES), id="500 for every second write"),
        pytest.param(TENSORFLOW, every(4, Answer(503, "ServiceUnavailable"), *WRITES, "list", "watch"), id="503"),
        pytest.param(XGBOOST, every(5, Answer(429, "TooManyRequests", SOON), *WRITES, "list", "watch"), id="429"),
        pytest.param(JAX, every(2, Answer(409, "Conflict"), "patch"), id="409 for every second patch"),
        pytest.param(MPI_SSH, every(2, Answer(409, "Conflict"), "patch", "delete"), id="409 for patches and deletes"),
        pytest.param(PYTORCH, every(2, Answer(410, "Expired"), "watch"), id="410 for every second watch"),
        pytest.param(PADDLE, every(2, Lost(after=False), *WRITES, "list"), id="every second request lost"),
        pytest.param(PYTORCH, every(2, Lost(after=True), *WRITES, "list"), id="every second answer lost"),
        pytest.param(MPI, every(2, Lost(after=True), *WRITES, "list"), id="every second answer lost with config maps"),
        pytest.param(MPI_SSH, every(3, Lost(after=True), *WRITES, "watch"), id="every third answer lost with a batch Job"),
        pytest.param(TENSORFLOW, every(2, Late(0.4), *WRITES, "list"), id="slow answers"),
        pytest.param(MPI, every(3, Late(1.0), "patch", "create"), id="very slow answers"),
        pytest.param(PYTORCH, watches_cut, id="watches cut"),
        pytest.param(MPI_SSH, watches_cut, id="many watches cut"),
    ],
)
def test_it_comes_to_the_same_end(house: Theatre, normal: Callable[[Kind], Portrait], kind: Kind, trouble: Trouble) -> None:
    expected = normal(kind)

    found = house.perform_with(kind, expected.told, trouble)

    lives.assert_same(found.portrait, expected, str(kind))


def test_it_comes_to_the_same_end_though_the_api_server_is_killed_in_the_midst_of_it(
    house: Theatre, normal: Callable[[Kind], Portrait]
) -> None:
    expected = normal(PYTORCH)
    died = threading.Event()
    left = ["create pods", "delete pods"]
    starting = threading.Lock()

    def kill() -> None:
        with starting:  # it serves before its start has been seen: killed then, its start would be awaited in vain
            house.kube.kill_apiserver()
        died.set()

    def killing(call: Call) -> Fate:
        if str(call).startswith(tuple(left[:1])):
            left.pop(0)
            return Lost(after=True, then=kill)
        return None

    @contextlib.contextmanager
    def trouble(gate: Gate) -> Iterator[None]:
        gate.judge = killing
        yield

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        playing = pool.submit(house.perform_with, PYTORCH, expected.told, trouble)
        while not playing.done():
            # It must be started from the main thread, for it ends with the thread that started it.
            if died.wait(0.1):
                died.clear()
                with starting:
                    house.kube.start_apiserver()

    assert not left
    lives.assert_same(playing.result().portrait, expected, "the API server was killed")


def test_a_version_that_the_api_server_no_longer_knows_is_followed_by_a_new_list(house: Theatre) -> None:
    with house.stage() as stage, house.proxy.gate() as gate:
        operator = house.operator(gate, stage, PYTORCH)
        try:
            stage.api.create(stage.namespace, PYTORCH.job())
            stage.kubelet.pod("j-worker-0")
            gate.close()
            body = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}}
            stage.api.patch("pytorchjobs", stage.namespace, "j", body)
            stage.api.delete("pods", stage.namespace, "j-worker-0", grace=0)
            house.kube.restart_apiserver()  # what it remembers of changes begins anew
            gate.open()

            stage.kubelet.run("j-master-0", "j-worker-0", "j-worker-1", "j-worker-2")
            stage.lookout.until(lambda: state(stage, "Running") == "True")
        finally:
            operator.signal(signal.SIGTERM)
            operator.wait()
        assert gate.expired > 0


def state(stage: lives.Stage, type: str) -> str:
    job = stage.lookout.find("pytorchjobs", stage.namespace, "j") or {}
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((entry["status"] for entry in conditions if entry["type"] == type), "")
