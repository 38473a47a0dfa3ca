"""Pods that cannot reach external networks: said at the start of the cluster, and of jobs that failed of it."""

from __future__ import annotations

import pathlib

import pytest
from tests.cli.cluster_fixture import JobCluster, write_manifests
from tests.cluster import manifests

from traincrew.cli.local_cluster import background
from traincrew.embedded import data_directory

WHY = "pods have no egress: neither pasta nor slirp4netns is installed; install one of them"
CONDITION = "traincrew.kubeflow.org/Egress"


@pytest.mark.parametrize("why", [WHY, ""])
def test_the_start_of_the_cluster_warns_once(tmp_path: pathlib.Path, why: str) -> None:
    announced: dict[str, object] = {"server": "https://127.0.0.1:1", "pid": 1, "no_egress": why}
    said = background.ready_message(data_directory.DataDirectory(tmp_path), announced)
    assert said.count(f"warning: {WHY}") == bool(why)
    assert sum("egress" in line for line in said) == bool(why)


@pytest.mark.parametrize(
    ("status", "output", "said"),
    [
        ("False", "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", True),
        ("True", "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", False),
        ("False", "ValueError: bad shape", False),
    ],
)
async def test_why_says_that_the_node_has_no_egress(
    job_cluster: JobCluster, tmp_path: pathlib.Path, status: str, output: str, said: bool
) -> None:
    condition = {"type": CONDITION, "status": status, "message": WHY, "reason": "NoEgress"}
    path, body = f"/api/v1/nodes/{job_cluster.node}/status", {"status": {"conditions": [condition]}}
    await job_cluster.do(job_cluster.cluster.api.call, "PATCH", path, body, "application/strategic-merge-patch+json")
    job = manifests.job("PyTorchJob", Master=manifests.replicas("PyTorchJob", 1, "Never"))
    await job_cluster("run", "--detach", write_manifests(tmp_path, job))
    await job_cluster.run("j-master-0")
    await job_cluster.fail("j-master-0", 1, f"Traceback (most recent call last):\n{output}")
    await job_cluster.until(lambda: "Failed" in str((job_cluster.job() or {})["status"]["conditions"]))
    assert ((await job_cluster("why", "j"))[1].count(WHY) == 1) == said
