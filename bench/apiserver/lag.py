"""The lag of the event loop under load: followers of a log, lists of all pods, jobs and the operator."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from bench.apiserver import load, servers
from bench.apiserver.http_client import Address, Connection, Response
from bench.operator import workload

OPERATOR_LOG = "/api/v1/namespaces/kubeflow/pods/{}/log?follow=true"
JOBS = "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs"
PODS_A_JOB = 4


async def busy(where: Address, namespace: str, followers: int, jobs: int, server: int) -> dict[str, float]:
    """Runs until every job has succeeded. The listed pods exist in `namespace` already; `server` gets a signal at the start."""
    name = await _operator_pod(where)
    follows = [asyncio.create_task(_follow(where, OPERATOR_LOG.format(name))) for _ in range(followers)]
    while not all(_counts.get(task) for task in follows):  # noqa: ASYNC110 - they count for themselves
        await asyncio.sleep(0.05)
    os.kill(server, signal.SIGUSR1)
    lists = [asyncio.create_task(_list(where, namespace, accept)) for accept in ("", load.TABLE)]
    started = time.perf_counter()
    await _jobs(where, f"{namespace}-jobs", jobs)
    took = time.perf_counter() - started
    lines, listed = await _counted(follows), await _counted(lists)
    return {"seconds": took, "lists": sum(listed), "lines": sum(lines)}


async def _counted(tasks: list[asyncio.Task[None]]) -> list[int]:
    """What each has counted up to now; they are ended."""
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    for each in ended:
        if isinstance(each, Exception):
            raise each
    return [_counts[task] for task in tasks]


_counts: dict[asyncio.Task[Any] | None, int] = {}


def _count(more: int = 1) -> None:
    task = asyncio.current_task()
    _counts[task] = _counts.get(task, 0) + more


async def _operator_pod(where: Address) -> str:
    async with Connection(where) as connection:
        response = await connection.request("GET", "/api/v1/namespaces/kubeflow/pods?labelSelector=name%3Dtf-job-operator")
        return str(json.loads(response.body)["items"][0]["metadata"]["name"])


async def _follow(where: Address, path: str) -> None:
    _count(0)
    async with Connection(where) as connection:
        connection.send("GET", path)
        status, _ = await connection.read_headers()
        if status != 200:
            raise RuntimeError(f"{path}: {status}")
        while data := await connection.bytes():
            _count(data.count(b"a line for those who follow"))


async def _list(where: Address, namespace: str, accept: str) -> None:
    _count(0)
    async with Connection(where) as connection:
        while True:
            await connection.request("GET", load.PODS.format(namespace), accept=accept)
            _count()


async def _jobs(where: Address, namespace: str, count: int) -> None:
    await load.namespace(where, namespace)
    gate = asyncio.Semaphore(16)

    async def gated(work: Awaitable[None]) -> None:
        async with gate:
            await work

    await asyncio.gather(
        *(gated(_job(where, namespace, workload.pytorch(f"job{each:04d}", PODS_A_JOB))) for each in range(count))
    )


async def _request_until(connection: Connection, good: Callable[[Response], bool], *request: Any) -> None:
    while not good(await connection.request(*request)):  # noqa: ASYNC110 - watches of every job would be a load of their own
        await asyncio.sleep(0.05)


async def _job(where: Address, namespace: str, job: dict[str, Any]) -> None:
    """One job's life, with the kubelet's part played."""
    async with Connection(where) as connection:
        await connection.request("POST", JOBS.format(namespace), msgspec.json.encode(job))
        for phase in ("Running", "Succeeded"):
            for pod in workload.pod_names(job, PODS_A_JOB):
                path = f"{load.PODS.format(namespace)}/{pod}/status"
                patch = workload.phase_patch(phase)
                await _request_until(connection, lambda response: response.status == 200, "PATCH", path, patch, load.MERGE)
        path = f"{JOBS.format(namespace)}/{job['metadata']['name']}"
        await _request_until(connection, lambda response: b'"type":"Succeeded"' in response.body, "GET", path)


def measured(parent: pathlib.Path, pods: int, followers: int, jobs: int) -> dict[str, float]:
    """The client's part runs in a process of its own, as everywhere."""
    with servers.ours(parent, (), "bench.apiserver.probe") as side:
        data = side.kubeconfig.parent
        servers.run_client(side, "creates", "crowd", 16, pods, False)
        results = servers.run_client(side, "busy", "crowd", followers, jobs, side.pids[0])
        os.kill(side.pids[0], signal.SIGUSR2)
        report = data / "lag.json"
        while not report.exists():
            time.sleep(0.01)
        return {**results, **json.loads(report.read_text())}


load.TASKS["busy"] = busy

if __name__ == "__main__":
    load.start(sys.argv[1:])
