"""Host discovery inside an elastic launcher: reachable workers are listed, surplus workers leave the list first."""

from __future__ import annotations

import datetime as dt
import pathlib

import pytest
import yaml
from tests.cluster.api import Object, eventually
from tests.seeds import launcher_logs
from tests.seeds.clusters import EXAMPLES, Cluster

JOB = "discovery"
LAUNCHER, NEW = f"{JOB}-launcher", f"{JOB}-worker-2"
_LOOK = 'while :; do echo "listed:" $(/etc/mpi/discover_hosts.sh); sleep 0.05; done'
_READY = "case $(hostname) in *-2) test -e /tmp/ready;; esac"
"""The readiness of the third worker is controlled by the test."""


@pytest.fixture
def looking(cluster: Cluster, tmp_path: pathlib.Path) -> Cluster:
    """An elastic job with two workers whose launcher only runs host discovery."""
    job: Object = yaml.safe_load((EXAMPLES / "mpi/horovod-elastic/job.yaml").read_text())
    job["metadata"]["name"] = JOB
    roles = job["spec"]["mpiReplicaSpecs"]
    launcher, worker = (roles[role]["template"]["spec"]["containers"][0] for role in ("Launcher", "Worker"))
    launcher["command"], launcher["args"] = ["sh", "-c"], [_LOOK]
    worker["readinessProbe"] = {"exec": {"command": ["sh", "-c", _READY]}, "periodSeconds": 1}
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    cluster.kubectl("create", "-f", str(path))
    cluster.says(LAUNCHER, rf"listed:.*{JOB}-worker-1:1")
    return cluster


def looks(cluster: Cluster) -> list[tuple[dt.datetime, bool]]:
    """The times of discovery, and whether the new worker was listed. An incomplete last line is ignored."""
    lines = cluster.machine.logs(LAUNCHER, timestamps="true").split("\n")[:-1]
    return [(dt.datetime.fromisoformat(line.split()[0]), f"{NEW}:1" in line) for line in lines]


def condition(pod: Object) -> Object:
    found: Object = next(each for each in pod["status"].get("conditions", ()) if each["type"] == "Ready")
    return found


def is_ready(cluster: Cluster) -> bool:
    return bool(condition(cluster.machine.pod(NEW))["status"] == "True")


def test_a_worker_is_listed_once_it_is_ready_and_leaves_the_list_before_it_is_stopped(looking: Cluster) -> None:
    launcher_logs.patch(looking, JOB, 3)
    eventually(lambda: looking.machine.pod(NEW)["status"]["phase"] == "Running")
    seen = len(looks(looking))
    eventually(lambda: len(looks(looking)) > seen + 20)
    assert not any(listed for _, listed in looks(looking)), "it runs, but it is not ready"
    looking.kubectl("exec", NEW, "--", "touch", "/tmp/ready")  # noqa: S108
    eventually(lambda: is_ready(looking))
    ready = dt.datetime.now(dt.UTC)
    since = dt.datetime.fromisoformat(condition(looking.machine.pod(NEW))["lastTransitionTime"])
    eventually(lambda: looks(looking)[-1][1])
    came = next(at for at, listed in looks(looking) if listed)
    assert came >= since
    looking.say(f"listed {(came - ready).total_seconds():.2f} s after it was seen to be ready")

    launcher_logs.patch(looking, JOB, 1)
    patched = dt.datetime.now(dt.UTC)
    eventually(lambda: not looks(looking)[-1][1])
    leaving = looking.machine.pod(NEW)
    assert "deletionTimestamp" not in leaving["metadata"]
    assert condition(leaving)["status"] == "True", "it is off the list, and still works"
    gone = next(at for at, listed in looks(looking) if at > came and not listed)
    looking.say(f"off the list {(gone - patched).total_seconds():.2f} s after the patch")
    eventually(lambda: looking.machine.api.find("pods", "default", NEW) is None, 120)
    assert not any(listed for at, listed in looks(looking) if at > gone)
    looking.delete(f"mpijob/{JOB}")
