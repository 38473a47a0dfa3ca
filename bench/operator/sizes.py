"""`python -m bench.operator.sizes`: memory, CPU and requests of the operator with 100, 1,000 and 10,000 running pods.

Its figures do not depend on the load of the machine: CPU is that of the operator's process, not elapsed time.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses

from tools.kube import cluster

from bench.operator import measurements, workload

PODS = 4
"""Of a job: a master and three workers."""
IDLE_SECONDS = 30.0


@dataclasses.dataclass(frozen=True)
class Size:
    jobs: int
    memory: float
    """MiB resident while all pods run."""
    cpu: float
    """Milliseconds of CPU per job, from its creation until all of its pods run."""
    requests: float
    """Per job, in the same time; without lists and watches."""
    idle: float
    """Per cent of a core while nothing changes."""
    memory_afresh: float
    """MiB resident after a restart of the operator."""


async def measure(kube: cluster.Cluster, jobs: int) -> Size:
    namespace = f"jobs-{jobs}"
    bodies = [workload.pytorch(f"job{index:05d}", PODS) for index in range(jobs)]
    async with workload.client(kube) as target:
        await workload.make_namespace(target, namespace)
        mark = kube.audit_size()
        async with workload.running_operator(kube, namespace) as operator:
            before = operator.cpu()
            await workload.submit(target, namespace, bodies)
            await measurements.until_made(kube, mark, namespace, jobs * PODS * 2)
            await measurements.each(
                bodies, lambda job: workload.set_pod_phase(target, namespace, workload.pod_names(job, PODS), "Running")
            )
            await measurements.quiet(kube)
            cpu, requests = operator.cpu() - before, measurements.by_operator(kube, mark)
            memory, before = operator.memory(), operator.cpu()
            await asyncio.sleep(IDLE_SECONDS)
            idle = (operator.cpu() - before) / IDLE_SECONDS
    async with workload.running_operator(kube, namespace) as operator:
        await measurements.quiet(kube)
        afresh = operator.memory()
    made = sum(measurements.requests(requests, jobs).values())
    return Size(jobs, memory, cpu / jobs * 1000, made, idle * 100, afresh)


TITLES = ("running jobs", "  pods", "memory, MiB", "after a restart", "CPU per job, ms", "requests per job", "idle CPU, %")


def row(size: Size) -> str:
    values = (f"{size.jobs:,}", f"{size.jobs * PODS:,}", f"{size.memory:.0f}", f"{size.memory_afresh:.0f}")
    more = (f"{size.cpu:.1f}", f"{size.requests:.1f}", f"{size.idle:.1f}")
    return "  ".join(value.rjust(len(title)) for title, value in zip(TITLES, (*values, *more), strict=True))


async def run(jobs: list[int]) -> None:
    print(f"calibration: {measurements.calibration():.3f} s for a fixed piece of work of one core (2.2 GHz: about 0.5)")
    print("  ".join(TITLES), flush=True)
    for number in jobs:
        # An API server of its own for each: the jobs of the last would still be listed.
        with workload.api_server_with_crds() as kube:
            print(row(await measure(kube, number)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[25, 250, 2500], help="numbers of jobs, with four pods each")
    asyncio.run(run(parser.parse_args().jobs))


if __name__ == "__main__":
    main()
