"""Pods: from being bound to their first instruction, one by one and two hundred at once."""

from __future__ import annotations

import os
import time

from bench.node.bench_cluster import BenchCluster, Object, children, pod, proportional, resident, until

SCHEDULER = "bench"
"""No scheduler has this name: the benchmark binds the pods itself, at a known time."""
NOW = ("date", "+%s.%N")


def starts(cluster: BenchCluster, count: int) -> list[float]:
    """Milliseconds from the binding to the command's first instruction, in order of size."""
    results = [_start(cluster, f"start-{number}") for number in range(count + 3)]
    return sorted(results[3:])  # the first ones warm up caches


def _start(cluster: BenchCluster, name: str) -> float:
    cluster.call("POST", "pods", pod(name, *NOW, schedulerName=SCHEDULER))
    target: Object = {"apiVersion": "v1", "kind": "Node", "name": "traincrew"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    bound = time.time()
    cluster.call("POST", f"pods/{name}/binding", binding)
    until(lambda: cluster.call("GET", f"pods/{name}")["status"].get("phase") == "Succeeded")
    took = float(cluster.log(name)) - bound
    cluster.call("DELETE", f"pods/{name}")
    return took * 1000


def burst(cluster: BenchCluster, count: int) -> dict[str, float]:
    """All pods at once: seconds until all run, their memory, seconds until all have ended and are deleted."""
    gate = cluster.home / "gate"
    os.mkfifo(gate)
    volumes = [{"name": "home", "hostPath": {"path": os.fspath(cluster.home)}}]
    mounts = {"volumeMounts": [{"name": "home", "mountPath": "/bench"}]}
    empty = resident(cluster.pid())
    bodies = [pod(f"burst-{number}", "cat", "/bench/gate", volumes=volumes, container=mounts) for number in range(count)]
    begun = time.perf_counter()
    for body in bodies:
        cluster.call("POST", "pods", body)
    created = time.perf_counter() - begun
    until(lambda: _count(cluster, "Running") == count, 0.1)
    results = {"created": created, "running": time.perf_counter() - begun, "empty": empty, **memory(cluster)}
    # Opening a pipe for reading blocks until it is opened for writing.
    opened = time.perf_counter()
    os.close(os.open(gate, os.O_WRONLY))
    until(lambda: _count(cluster, "Succeeded") == count, 0.1)
    results["ended"] = time.perf_counter() - opened
    for body in bodies:
        cluster.call("DELETE", f"pods/{body['metadata']['name']}")
    until(lambda: not cluster.pods(), 0.1)
    return results


def _count(cluster: BenchCluster, phase: str) -> int:
    return sum(each["status"].get("phase") == phase for each in cluster.pods())


def memory(cluster: BenchCluster) -> dict[str, float]:
    """MiB."""
    shims = cluster.shims()
    inits = [child for shim in shims for child in children(shim)]
    each = {"shim": shims, "init": inits}
    shares = {name: sum(map(proportional, pids)) / max(len(pids), 1) for name, pids in each.items()}
    return {"daemon": resident(cluster.pid()), "daemon_proportional": proportional(cluster.pid()), **shares}
