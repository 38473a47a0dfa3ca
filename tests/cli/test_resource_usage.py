"""Which jobs use a resource that others wait for, and which give it back."""

from __future__ import annotations

import msgspec

from traincrew.inspection import resource_usage

GPU = "nvidia.com/gpu"


def pod(name: str, **meta: str) -> bytes:
    labels = {"training.kubeflow.org/job-name": "e"}
    container = {"resources": {"requests": {GPU: "1"}}}
    body = {
        "metadata": {"name": name, "namespace": "default", "labels": labels, **meta},
        "spec": {"nodeName": "n", "containers": [container]},
        "status": {"phase": "Running"},
    }
    return msgspec.json.encode(body)


def test_workers_that_are_given_back_are_named_with_their_job() -> None:
    pods = [pod("e-worker-0"), pod("e-worker-2", deletionTimestamp="2026-01-01T00:00:00Z")]
    assert resource_usage.users_of(GPU, pods) == f"{GPU} is used by job default/e (2)"
    assert resource_usage.leaving(GPU, pods) == "job default/e gives back e-worker-2"


def test_nothing_is_said_if_nobody_leaves() -> None:
    assert not resource_usage.leaving(GPU, [pod("e-worker-0")])
