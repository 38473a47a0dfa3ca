"""`kill -9` of the daemon in a loop, while pods start, run, end and are deleted: they survive once, and nothing is left."""

from __future__ import annotations

import time

import pytest
from tests.cluster.api import Object, eventually
from tests.hostile import shims
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

KILLS = 8
PAUSE = 0.15
"""Seconds. The n-th kill comes n times as late after the requests before it."""
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SOURCES: dict[str, Object] = {
    "disk": {"emptyDir": {}},
    "memory": {"emptyDir": {"medium": "Memory"}},
    "claim": {"ephemeral": {"volumeClaimTemplate": {"spec": _CLAIM}}},
}


def worker(name: str) -> Object:
    script = "trap 'exit 0' TERM; touch /v/disk/f /v/memory/f /v/claim/f; while :; do echo line; sleep 0.1; done"
    volumes = [{"name": each, **source} for each, source in SOURCES.items()]
    return pod(name, "sh", "-c", script, volumes=volumes, volumeMounts=[{"name": e, "mountPath": f"/v/{e}"} for e in SOURCES])


@pytest.mark.parametrize("way", ["grace", "at once"])
def test_pods_survive_the_daemon_once_and_deleted_ones_leave_nothing(fresh: HostileCluster, way: str) -> None:
    if (fresh.level, way) == ("user", "grace"):
        pytest.skip("takes a minute, and the level makes no difference")
    fresh.up()
    fresh.create(worker("lasting"))
    uid = fresh.running("lasting")["metadata"]["uid"]
    shim = shims.shim_pid(fresh, "lasting")
    for number in range(KILLS):
        fresh.create(worker(f"worker-{number}"))
        if number:
            fresh.api.delete("pods", "default", f"worker-{number - 1}", grace=0 if way == "at once" else None)
        time.sleep(number * PAUSE)
        fresh.footprint.record()
        fresh.kill()
        fresh.up()
        fresh.footprint.record()
    for number in range(KILLS - 1):
        fresh.gone(f"worker-{number}", seconds=90)
    fresh.running(f"worker-{KILLS - 1}")
    found = fresh.running("lasting")
    assert (found["metadata"]["uid"], found["status"]["containerStatuses"][0]["restartCount"]) == (uid, 0)
    assert shims.shim_pid(fresh, "lasting") == shim
    lines = len(fresh.logs("lasting"))
    eventually(lambda: len(fresh.logs("lasting")) > lines)
