"""Jobs that can never run on the cluster of this machine."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from traincrew.cli.jobs import unsatisfiable
from traincrew.inspection import observed_job

NODE = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "2"}}}
GPU = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."


def pod(message: str, **limits: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {
        "metadata": {"name": "j-worker-0", "namespace": "n", "uid": "u"},
        "spec": {
            "containers": [
                {"name": "c", "resources": {"limits": {k.replace("gpu", "nvidia.com/gpu"): v for k, v in limits.items()}}}
            ]
        },
        "status": {"phase": "Pending", "conditions": [condition]},
    }


def reason(*pods: dict[str, Any], together: bool = True, nodes: int = 1) -> str:
    waiting = [observed_job.decode_pod(msgspec.json.encode(each)) for each in pods]
    return unsatisfiable.scheduling_reason(unsatisfiable.unschedulable(waiting), pods, [NODE] * nodes, together=together)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([pod(GPU, gpu="4")], "a pod needs 4 nvidia.com/gpu, and the node has 2", id="more GPUs than it has"),
        pytest.param([pod(GPU, gpu="1")] * 3, "the pods need 3 nvidia.com/gpu together, and the node has 2", id="all together"),
        pytest.param([pod(GPU, gpu="1")] * 2, "", id="GPUs that others use are free some time"),
        pytest.param(
            [pod("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.")],
            "no node has the labels that pod j-worker-0 requires (nodeSelector or node affinity)",
            id="a node selector that nothing satisfies",
        ),
        pytest.param([pod("0/1 nodes are available: 1 Insufficient memory.", memory="9Gi")],
                     "a pod needs 9 GiB of memory, and the node has 8 GiB", id="memory"),
    ],
)  # fmt: skip
def test_the_reason_names_what_the_machine_lacks(pods: list[dict[str, Any]], expected: str) -> None:
    assert reason(*pods) == expected


def test_an_elastic_job_may_run_with_fewer_pods() -> None:
    assert reason(*[pod(GPU, gpu="1")] * 3, together=False) == ""


def test_a_cluster_whose_node_has_not_registered_is_waited_for() -> None:
    assert reason(pod(GPU, gpu="4"), nodes=0) == ""
