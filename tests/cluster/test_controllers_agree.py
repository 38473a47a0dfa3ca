"""Our controllers and those of kube-controller-manager, in the same scenes on the same API server: everything visible is the same."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cluster import own_controllers
from tests.cluster.api import Api
from tests.cluster.scenes import claims, jobs, services
from tests.cluster.scenes.stage import Stage
from tools.kube import cluster

Scene = Callable[[Stage], Any]
SCENES: dict[str, Scene] = {
    f"{part.__name__.rpartition('.')[2]}: {scene.__name__}": scene for part in (jobs, services, claims) for scene in part.SCENES
}
REAL = (
    "job", "ttl-after-finished", "endpoint", "endpointslice", "persistentvolume-binder", "pvc-protection", "pv-protection",
    "garbagecollector",
)  # fmt: skip
OWN = ("job", "endpoint", "persistentvolume-binder", "persistentvolume-protection")
AT_ONCE = 8


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.Cluster]:
    with cluster.start() as started:
        yield started


@contextlib.contextmanager
def real(kube: cluster.Cluster, *names: str) -> Iterator[None]:
    flags = ("--pvclaimbinder-sync-period=1s", "--concurrent-job-syncs=10")
    kube.start_controller_manager(f"--controllers={','.join(names)}", *flags)
    try:
        yield
    finally:
        kube.stop_controller_manager()


@pytest.fixture(scope="module")
def outcomes(kube: cluster.Cluster) -> dict[str, dict[str, Any]]:
    """All scenes with the real ones first, then with ours; what is collected is collected by the real collector."""
    with real(kube, *REAL):
        theirs = _play(kube)
    with real(kube, "garbagecollector"), own_controllers.running(kube, *OWN):
        ours = _play(kube)
    return {"theirs": theirs, "ours": ours}


def _play(kube: cluster.Cluster) -> dict[str, Any]:
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(SCENES, pool.map(functools.partial(_scene, kube), SCENES.values()), strict=True))


def _scene(kube: cluster.Cluster, scene: Scene) -> Any:
    namespace = f"scene-{uuid.uuid4().hex[:10]}"
    Api(kube.kubeconfig).call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    try:
        return scene(Stage(kube.kubeconfig, namespace))
    except Exception as error:  # told by the test of that scene alone
        return f"{type(error).__name__}: {error} ({error.__cause__!r})"


@pytest.mark.parametrize("scene", SCENES)
def test_our_controllers_leave_behind_what_the_real_ones_do(outcomes: dict[str, dict[str, Any]], scene: str) -> None:
    assert outcomes["ours"][scene] == outcomes["theirs"][scene]
    assert not isinstance(outcomes["theirs"][scene], str), outcomes["theirs"][scene]
