"""python -m bench.sharing [--seeds 101,102] [--days 0.5] [--loads 0.95,0.7] [--plot FILE] [--scale].

Completion times, waits and the productive share. At the default loads rigid jobs wait.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import time
from typing import NamedTuple

from bench.sharing import philly, plot, scale
from bench.sharing.philly import DAY, TraceJob
from bench.sharing.replay import SPEED, ReplayedJob, SharingReplay
from traincrew.kinds.elasticity import ResizeCost

CAPACITY = 64
WARM_UP = 0.25
"""Days before the first job that counts."""
COSTS = {"Horovod": ResizeCost(10.0, 5.0), "torchrun": ResizeCost(20.0, 20.0, 150.0)}


class ReplayRow(NamedTuple):
    completion: float
    """Mean minutes from arrival to end, of jobs that ended."""
    wait: float
    """Mean minutes of rigid jobs from arrival to start."""
    productive: float
    """Percent of all GPU time that was training whose result was kept."""


def open_day(seed: int, days: float, load: float, cost: ResizeCost | None) -> ReplayRow:
    """Three of ten jobs are elastic, from one worker to four times what they ask for. cost None: they are rigid."""
    trace = philly.jobs(seed, WARM_UP + days, load, CAPACITY, 0.3)
    return _measure([_job(number, each, cost) for number, each in enumerate(trace)], WARM_UP + days)


def endless(seed: int, days: float, load: float, cost: ResizeCost | None) -> ReplayRow:
    """Four elastic jobs that never end, with four GPUs each, beside rigid jobs."""
    forever = TraceJob(0.0, 4, 1e12, True)
    trace = philly.jobs(seed, WARM_UP + days, load, CAPACITY, 0.0)
    jobs = [_job(number, each, cost, max_replicas=CAPACITY) for number, each in enumerate([forever] * 4)]
    return _measure(jobs + [_job(4 + number, each, None) for number, each in enumerate(trace)], WARM_UP + days)


def _job(number: int, trace: TraceJob, cost: ResizeCost | None, max_replicas: int = 0) -> ReplayedJob:
    adapts = cost is not None and trace.elastic
    bounds = (1, max_replicas or 4 * trace.gpus) if adapts else (trace.gpus, trace.gpus)
    work = trace.seconds * trace.gpus**SPEED
    return ReplayedJob(trace, f"job-{number:06}", bounds[0], trace.gpus, bounds[1], cost or COSTS["Horovod"], left=work)


def _measure(jobs: list[ReplayedJob], days: float) -> ReplayRow:
    replay = SharingReplay(jobs)
    replay.run(WARM_UP * DAY)
    before = sum(job.trained for job in jobs)
    replay.run(days * DAY)
    trained = sum(job.trained for job in jobs) - before
    counted = [job for job in jobs if job.trace.arrival >= WARM_UP * DAY]
    ended = [(job.ended - job.trace.arrival) / 60 for job in counted if job.ended is not None]
    rigid = [job for job in counted if not job.trace.elastic]
    waits = [((job.started if job.started is not None else replay.now) - job.trace.arrival) / 60 for job in rigid]
    productive = 100 * trained / (CAPACITY * (days - WARM_UP) * DAY)
    return ReplayRow(statistics.mean(ended or [0.0]), statistics.mean(waits or [0.0]), productive)


WORKLOADS = (("open day", open_day), ("four endless jobs", endless))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sharing", description=__doc__)
    parser.add_argument("--seeds", default="101,102,103")
    parser.add_argument("--days", type=float, default=0.5)
    parser.add_argument("--loads", default="0.95,0.7", help="of an open day, and beside endless jobs")
    parser.add_argument("--plot", default="")
    parser.add_argument("--scale", action="store_true", help="only print how long one decision takes in a large cluster")
    options = parser.parse_args()
    if options.scale:
        scale.print_times(20)
        return
    drawn: dict[str, list[tuple[str, ReplayRow]]] = {}
    for (title, workload), load in zip(WORKLOADS, map(float, options.loads.split(",")), strict=True):
        name = f"{title}, load {load:g}"
        print(f"\n{name}: {CAPACITY} GPUs, {options.days:g} days")
        print("| seed | jobs | completion, min | wait of rigid jobs, min | productive, % | computed in, s |")
        print("|---|---|---|---|---|---|")
        for seed in map(int, options.seeds.split(",")):
            for label, cost in (("rigid", None), *COSTS.items()):
                began = time.perf_counter()
                row = workload(seed, options.days, load, cost)
                spent = time.perf_counter() - began
                drawn.setdefault(name, []).append((label, row))
                figures = f"{row.completion:.0f} | {row.wait:.1f} | {row.productive:.1f} | {spent:.0f}"
                print(f"| {seed} | {label} | {figures} |", flush=True)
    if options.plot:
        pathlib.Path(options.plot).write_text(plot.draw(drawn))


if __name__ == "__main__":
    main()
