"""Pods: from being bound to their first instruction, one by one and two hundred at once."""

from __future__ import annotations

import os
import time

from bench.node.bench_cluster import BenchCluster, Object, children, pod, proportional, resident, until

SCHEDULER = "bench"
"""Nobody's name: the pod is bound by us, at a moment that we know."""
NOW = ("date", "+%s.%N")


def starts(world: BenchCluster, count: int) -> list[float]:
    """Milliseconds from the binding to the command's first instruction, in order of size."""
    found = [_start(world, f"start-{number}") for number in range(count + 3)]
    return sorted(found[3:])  # the first ones wake what has slept


def _start(world: BenchCluster, name: str) -> float:
    world.call("POST", "pods", pod(name, *NOW, schedulerName=SCHEDULER))
    target: Object = {"apiVersion": "v1", "kind": "Node", "name": "traincrew"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    bound = time.time()
    world.call("POST", f"pods/{name}/binding", binding)
    until(lambda: world.call("GET", f"pods/{name}")["status"].get("phase") == "Succeeded")
    took = float(world.log(name)) - bound
    world.call("DELETE", f"pods/{name}")
    return took * 1000


def burst(world: BenchCluster, count: int) -> dict[str, float]:
    """All at once: until each runs, what they hold, until each has ended and is gone."""
    gate = world.home / "gate"
    os.mkfifo(gate)
    volumes = [{"name": "home", "hostPath": {"path": os.fspath(world.home)}}]
    mounts = {"volumeMounts": [{"name": "home", "mountPath": "/bench"}]}
    empty = resident(world.pid())
    bodies = [pod(f"crowd-{number}", "cat", "/bench/gate", volumes=volumes, container=mounts) for number in range(count)]
    begun = time.perf_counter()
    for body in bodies:
        world.call("POST", "pods", body)
    made = time.perf_counter() - begun
    until(lambda: _count(world, "Running") == count, 0.1)
    found = {"created": made, "running": time.perf_counter() - begun, "empty": empty, **memory(world)}
    # Whoever opens a pipe to read waits for somebody who writes.
    opened = time.perf_counter()
    os.close(os.open(gate, os.O_WRONLY))
    until(lambda: _count(world, "Succeeded") == count, 0.1)
    found["ended"] = time.perf_counter() - opened
    for body in bodies:
        world.call("DELETE", f"pods/{body['metadata']['name']}")
    until(lambda: not world.pods(), 0.1)
    return found


def _count(world: BenchCluster, phase: str) -> int:
    return sum(each["status"].get("phase") == phase for each in world.pods())


def memory(world: BenchCluster) -> dict[str, float]:
    """MiB."""
    shims = world.shims()
    inits = [child for shim in shims for child in children(shim)]
    each = {"shim": shims, "init": inits}
    shares = {name: sum(map(proportional, pids)) / max(len(pids), 1) for name, pids in each.items()}
    return {"daemon": resident(world.pid()), "daemon_proportional": proportional(world.pid()), **shares}
