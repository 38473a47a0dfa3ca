"""The measurements. Each returns plain numbers."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime as dt
import hashlib
import time
from typing import Any

import msgspec
from tools.kube import cluster

from bench.operator import workload
from traincrew.client.remote import RemoteClient
from traincrew.model import resources


def calibration() -> float:
    """Seconds for a fixed amount of single-core work: how fast this machine is just now."""
    started = time.perf_counter()
    data = b"x" * 1024
    for _ in range(400_000):
        data = hashlib.sha256(data).digest() * 4
    return time.perf_counter() - started


@dataclasses.dataclass(frozen=True)
class BareClient:
    connections: int
    rate: float
    """Objects posted per second."""
    server_cpu: float
    """CPU seconds of the API server per 1,000 objects."""


async def measure_bare_client(
    kube: cluster.Cluster, sample: tuple[list[bytes], list[bytes]], copies: int, connections: int, tag: str
) -> BareClient:
    """Posts the pods and services of `copies` jobs, as the operator would create them, and does nothing else."""
    namespace = f"bare-{tag}"
    async with workload.client(kube, connections) as target:
        await workload.make_namespace(target, namespace)
        work: asyncio.Queue[tuple[Any, bytes]] = asyncio.Queue()
        for index in range(copies):
            for resource, bodies in zip((resources.PODS, resources.SERVICES), sample, strict=True):
                for body in bodies:
                    work.put_nowait((resource, body.replace(b"sample", f"b{index:05d}".encode())))
        total, cpu, started = work.qsize(), workload.cpu_seconds(kube.pid("kube-apiserver")), time.perf_counter()

        async def poster() -> None:
            while not work.empty():
                resource, body = work.get_nowait()
                await target.create(resource, namespace, body, strict=resource == resources.PODS)

        await asyncio.gather(*(poster() for _ in range(connections)))
        seconds = time.perf_counter() - started
        spent = workload.cpu_seconds(kube.pid("kube-apiserver")) - cpu
    return BareClient(connections, total / seconds, spent / total * 1000)


async def sample(kube: cluster.Cluster, pods: int) -> tuple[list[bytes], list[bytes]]:
    """The bodies that the operator posts for one job, read back from the server and stripped."""
    async with workload.client(kube) as target:
        await workload.make_namespace(target, "sample")
        async with workload.running_operator(kube, "sample"):
            await workload.submit(target, "sample", [workload.pytorch("sample", pods)])
            await workload.until_count(target, resources.SERVICES, "sample", pods)
            await workload.until_count(target, resources.PODS, "sample", pods)
        results = []
        for resource in (resources.PODS, resources.SERVICES):
            items = [msgspec.json.decode(raw) async for page in target.pages(resource, "sample") for raw in page.items]
            results.append([_stripped(resource.kind, item) for item in items])
    return results[0], results[1]


def _stripped(kind: str, item: dict[str, Any]) -> bytes:
    meta = {key: item["metadata"][key] for key in ("name", "labels", "ownerReferences") if key in item["metadata"]}
    spec = {key: value for key, value in item["spec"].items() if key not in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")}
    return msgspec.json.encode({"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": spec})


@dataclasses.dataclass
class Lifecycle:
    jobs: int
    rate: float
    """Pods and services created per second, from the first to the last."""
    seconds: float
    requests: dict[str, float]
    """Per job, by verb and resource."""
    cpu: float
    """Milliseconds of the operator's CPU per job, its whole life."""
    memory: float
    """MiB resident with all pods there."""
    idle: int
    """Writes that changed nothing."""
    reads: int
    """GETs in the steady state."""

    @property
    def total(self) -> float:
        return sum(self.requests.values())


async def measure_lifecycle(kube: cluster.Cluster, make: Any, jobs: int, pods: int, namespace: str) -> Lifecycle:
    """Runs jobs from their creation to their end."""
    bodies = [make(f"job{index:05d}", pods) for index in range(jobs)]
    services = 0 if bodies[0]["kind"] == "MPIJob" else pods
    async with workload.client(kube) as target:
        await workload.make_namespace(target, namespace)
        await workload.submit(target, namespace, bodies)
        mark = kube.audit_size()
        async with workload.running_operator(kube, namespace) as operator:
            await until_made(kube, mark, namespace, jobs * (pods + services))
            await asyncio.sleep(1)
            memory = operator.memory()
            await each(
                bodies,
                lambda job: workload.set_pod_phase(target, namespace, workload.pod_names(job, pods), "Running"),
            )
            await each(
                bodies,
                lambda job: workload.set_pod_phase(target, namespace, workload.pod_names(job, pods), "Succeeded"),
            )
            await _all_succeeded(target, namespace, bodies)
            await quiet(kube)
            cpu = operator.cpu()
    entries = by_operator(kube, mark)
    created = [entry for entry in entries if _is_create(entry, namespace)]
    times = sorted(_seconds(entry) for entry in created)
    span = times[-1] - times[0]
    return Lifecycle(
        jobs=jobs, rate=len(created) / span, seconds=span, requests=requests(entries, jobs), cpu=cpu / jobs * 1000,
        memory=memory, idle=_idle(entries), reads=sum(entry["verb"] == "get" for entry in entries),
    )  # fmt: skip


def by_operator(kube: cluster.Cluster, mark: int) -> list[dict[str, Any]]:
    """Its requests to resources. At its start it also reads the OpenAPI document."""
    entries = kube.audit(since=mark)
    return [entry for entry in entries if "objectRef" in entry and workload.AGENT in entry.get("userAgent", "")]


def _is_create(entry: dict[str, Any], namespace: str) -> bool:
    ref = entry.get("objectRef", {})
    return entry["verb"] == "create" and ref.get("resource") in ("pods", "services") and ref.get("namespace") == namespace


async def until_made(kube: cluster.Cluster, mark: int, namespace: str, wanted: int) -> None:
    """Reads the audit log: lists of thousands of pods would distort the measurement."""
    while wanted > 0:
        await asyncio.sleep(0.5)
        now = kube.audit_size()
        entries = kube.audit(since=mark, until=now)
        wanted -= sum(_is_create(entry, namespace) for entry in entries)
        mark = now


def _seconds(entry: dict[str, Any]) -> float:
    return dt.datetime.fromisoformat(entry["stageTimestamp"]).timestamp()


def requests(entries: list[dict[str, Any]], jobs: int) -> dict[str, float]:
    counted: collections.Counter[str] = collections.Counter()
    for entry in entries:
        if entry["verb"] not in ("list", "watch"):
            ref = entry["objectRef"]
            counted[f"{entry['verb']} {ref['resource']}{'/' + ref['subresource'] if ref.get('subresource') else ''}"] += 1
    return {name: number / jobs for name, number in sorted(counted.items())}


def _idle(entries: list[dict[str, Any]]) -> int:
    """Rejected or repeated writes: those without a change."""
    return sum(
        entry["verb"] in ("create", "patch", "update", "delete") and entry["responseStatus"]["code"] >= 300 for entry in entries
    )


async def each(bodies: list[dict[str, Any]], work: Any) -> None:
    gate = asyncio.Semaphore(32)

    async def one(job: dict[str, Any]) -> None:
        async with gate:
            await work(job)

    await asyncio.gather(*(one(job) for job in bodies))


async def _all_succeeded(target: RemoteClient, namespace: str, bodies: list[dict[str, Any]]) -> None:
    resource = workload.BY_KIND[bodies[0]["kind"]]
    while True:
        done = 0
        async for page in target.pages(resource, namespace):
            done += sum(b'"type":"Succeeded"' in raw for raw in page.items)
        if done >= len(bodies):
            return
        await asyncio.sleep(0.3)


async def quiet(kube: cluster.Cluster) -> None:
    """Until the operator has posted its last event."""
    size = -1
    while size != (now := kube.audit_size()):
        size = now
        await asyncio.sleep(1.0)


async def finished_jobs(kube: cluster.Cluster, namespace: str, number: int) -> None:
    """Jobs that ended long ago, with no pods left."""
    status = msgspec.json.encode(
        {
            "status": {
                "contract": "v1", "endedBy": "Success", "startTime": workload.NOW, "completionTime": workload.NOW,
                "conditions": [
                    {"type": "Succeeded", "status": "True", "reason": "PyTorchJobSucceeded", "message": "",
                     "lastUpdateTime": workload.NOW, "lastTransitionTime": workload.NOW}
                ],
            }
        }
    )  # fmt: skip
    resource = workload.BY_KIND["PyTorchJob"]
    async with workload.client(kube) as target:

        async def one(job: dict[str, Any]) -> None:
            await workload.post(target, resource, namespace, job)
            await target.patch(resource, namespace, job["metadata"]["name"], status, subresource="status")

        await each([workload.pytorch(f"old{index:06d}") for index in range(number)], one)


async def latency(kube: cluster.Cluster, namespace: str, jobs: int, per_second: float) -> list[float]:
    """Milliseconds from the last pod's end to Succeeded, as a watcher of the job sees it."""
    async with workload.client(kube) as target, workload.running_operator(kube, namespace):
        bodies = [workload.pytorch(f"lat{index:05d}", 2) for index in range(jobs)]
        await workload.submit(target, namespace, bodies)
        await workload.until_count(target, resources.PODS, namespace, jobs * 2)
        await each(bodies, lambda job: workload.set_pod_phase(target, namespace, workload.pod_names(job, 2), "Running"))
        await asyncio.sleep(2)
        ended: dict[str, float] = {}
        seen: dict[str, float] = {}
        watching = asyncio.Event()
        watcher = asyncio.create_task(_watch(target, namespace, seen, watching))
        await watching.wait()
        for job in bodies:
            worker, master = workload.pod_names(job, 2)
            await workload.set_pod_phase(target, namespace, [worker], "Succeeded")
            await asyncio.sleep(1 / per_second)
            await workload.set_pod_phase(target, namespace, [master], "Succeeded")
            ended[job["metadata"]["name"]] = time.perf_counter()
        while not ended.keys() <= seen.keys():  # noqa: ASYNC110 - the watcher fills it
            await asyncio.sleep(0.1)
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
    return sorted((seen[name] - moment) * 1000 for name, moment in ended.items())


async def _watch(target: RemoteClient, namespace: str, seen: dict[str, float], watching: asyncio.Event) -> None:
    resource = workload.BY_KIND["PyTorchJob"]
    version = ""
    async for page in target.pages(resource, namespace):
        version = page.resource_version
    async for change in target.watch(resource, namespace, resource_version=version):
        watching.set()
        if b'"type":"Succeeded"' in change.object:
            name = msgspec.json.decode(change.object)["metadata"]["name"]
            seen.setdefault(name, time.perf_counter())


@dataclasses.dataclass
class ManyJobs:
    pods: int
    memory: float
    """MiB resident of the operator that created the pods, all of them running."""
    writes: int
    """Of a restarted operator on the same jobs, which need no change."""
    memory_afresh: float


async def measure_many_jobs(kube: cluster.Cluster, namespace: str, jobs: int) -> ManyJobs:
    """Running jobs of four pods each; then the operator starts anew."""
    bodies = [workload.pytorch(f"many{index:05d}") for index in range(jobs)]
    async with workload.client(kube) as target:
        await workload.make_namespace(target, namespace)
        await workload.submit(target, namespace, bodies)
        mark = kube.audit_size()
        async with workload.running_operator(kube, namespace) as operator:
            await until_made(kube, mark, namespace, jobs * 8)
            await each(
                bodies,
                lambda job: workload.set_pod_phase(target, namespace, workload.pod_names(job, 4), "Running"),
            )
            await quiet(kube)
            memory = operator.memory()
    mark = kube.audit_size()
    async with workload.running_operator(kube, namespace) as operator:
        await asyncio.sleep(10)
        afresh = operator.memory()
    writes = sum(entry["verb"] not in ("get", "list", "watch") for entry in by_operator(kube, mark))
    return ManyJobs(jobs * 4, memory, writes, afresh)
