"""A job with thousands of pods that exist in the API server alone: no operator, scheduler or kubelet acts on them."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
from typing import Any

from tests.console.console_fixture import job

from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.model import resources

MANAGER = "kueue.x-k8s.io/multikueue"
AT_ONCE = 32


def large_job(name: str, workers: int) -> dict[str, Any]:
    found = job(name, "sleep 1000", workers=workers)
    found["spec"]["runPolicy"] = {"managedBy": MANAGER}
    return found


def pod(name: str, index: int) -> dict[str, Any]:
    labels = {
        "training.kubeflow.org/job-name": name,
        "training.kubeflow.org/operator-name": "jaxjob-controller",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": str(index),
    }
    container = {"name": "jax", "image": "any", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-worker-{index}", "labels": labels},
        "spec": {"schedulerName": "nobody", "containers": [container]},
    }


async def create(config: pathlib.Path, name: str, count: int, failed: int) -> None:
    """Pods of which all run but one, which has failed."""
    async with RemoteClient(kubeconfig.load(os.fspath(config)), component="test") as client:
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(index: int) -> None:
            async with turns:
                await client.create(resources.PODS, "default", json.dumps(pod(name, index)).encode())
                status = {"status": {"phase": "Failed" if index == failed else "Running"}}
                body = json.dumps(status).encode()
                await client.patch(resources.PODS, "default", f"{name}-worker-{index}", body, subresource="status")

        await asyncio.gather(*map(one, range(count)))
