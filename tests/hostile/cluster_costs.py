"""Gives costly pods, Jobs and Services to the scheduler, the controllers and the kubelet, and measures what each costs.

python -m tests.hostile.cluster_costs DATA NUMBER prints two lines of JSON for each case, and for NUMBER enlarged objects: what
scheduler and controllers do in one turn of the event loop, and what one decision of the kubelet costs. A program, so that it has
its own limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import pathlib
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any
from unittest import mock

from tests.embedded.controllers.in_process_cluster import NAMESPACE, Cluster, cluster, running_controllers
from tests.embedded.kubelet.lifecycle import pods as observed_pods
from tests.hostile import costly_pods
from tests.hostile.costly_pods import CostlyObject
from tests.hostile.request_costs import Cost, memory, reset_peak

from traincrew import errors
from traincrew.embedded import gc_tuning
from traincrew.embedded.kubelet.envvars import process_config, variables
from traincrew.embedded.kubelet.envvars.errors import ConfigError
from traincrew.embedded.kubelet.images.environment import Environment
from traincrew.embedded.kubelet.lifecycle import next_steps
from traincrew.embedded.kubelet.lifecycle.observed import ObservedPod
from traincrew.embedded.scheduler import Scheduler
from traincrew.model.resources import BATCH_JOBS, CONFIG_MAPS, NODES, PODS, SERVICES
from traincrew.scheduling.decisions import Profile

ENLARGED = "enlarged objects"
NAMES = (ENLARGED, *(case.__name__ for case in costly_pods.CASES))
PARTS = ("event loop", "kubelet")
QUIET = 3
"""Rounds without work after which scheduler and controllers are idle."""
ROUNDS = 200

Object = dict[str, Any]
Decision = Callable[[], object]


def name(case: str, part: str) -> str:
    return f"{case}: {part}"


class _LoopMeter:
    """The most expensive callback of the event loop: nothing else runs meanwhile."""

    def __init__(self) -> None:
        self.seconds, self.callback = 0.0, ""

    @contextlib.contextmanager
    def measuring(self) -> Iterator[None]:
        run = asyncio.Handle._run

        def measured(handle: asyncio.Handle) -> None:
            started = time.thread_time()
            run(handle)
            if (seconds := time.thread_time() - started) > self.seconds:
                self.seconds, self.callback = seconds, repr(handle)

        with mock.patch.object(asyncio.Handle, "_run", measured):
            yield


async def _idle() -> None:
    quiet = 0
    for _ in range(ROUNDS):
        before = time.thread_time()
        await asyncio.sleep(0.05)
        quiet = quiet + 1 if time.thread_time() - before < 0.01 else 0
        if quiet == QUIET:
            return


async def _store(running: Cluster, each: CostlyObject) -> str:
    """Why the object is not stored, if the API server rejects it. Its cost is that of a request."""
    try:
        await running.create(each.resource, each.body)
    except (errors.ApiError, OverflowError) as error:
        return str(error)[:300] or repr(error)
    return ""


async def _in_cluster(running: Cluster, case: str, objects: Iterable[CostlyObject]) -> Cost:
    """What scheduler and controllers do with each object. Those made for it must be accepted, or nothing is measured."""
    cost = Cost(name(case, PARTS[0]), 0, [], 0.0, 0.0, "")
    for each in objects:
        reset_peak()
        before, meter = memory("VmRSS"), _LoopMeter()
        rejection = await _store(running, each)
        if rejection and case == ENLARGED:
            continue
        with meter.measuring():
            await _idle()
        shown = f"{each.resource.kind} {each.body['metadata'].get('name')}: {meter.callback}"[:500]
        cost = cost.plus(shown, rejection, meter.seconds, memory("VmHWM") - before)
    return cost


def _measured(cost: Cost, shown: str, decide: Decision) -> Cost:
    reset_peak()
    before, started, problem = memory("VmRSS"), time.thread_time(), ""
    try:
        decide()
    except ConfigError:
        pass
    except Exception:
        problem = traceback.format_exc(limit=-4)
    return cost.plus(shown, problem, time.thread_time() - started, memory("VmHWM") - before)


def _in_kubelet(case: str, stored: Iterable[Object], sources: variables.EnvVarSources) -> Cost:
    cost = Cost(name(case, PARTS[1]), 0, [], 0.0, 0.0, "")
    for pod in stored:
        shown = pod["metadata"]["name"]
        for observed in (ObservedPod(first_seen=observed_pods.START), observed_pods.observed_pod()):
            decide: Decision = functools.partial(next_steps, pod, observed, observed_pods.at(1))
            cost = _measured(cost, f"{shown}: next steps", decide)
        for container in pod["spec"]["containers"][:10]:
            cost = _measured(cost, f"{shown}: process", functools.partial(_process, pod, container, sources))
    return cost


def _process(pod: Object, container: Object, sources: variables.EnvVarSources) -> object:
    found = variables.build_environment(pod, container, sources)
    return process_config.build_process_config(container, Environment(command=("sh",)), found, {})


async def _measure(running: Cluster, case: str, objects: Iterable[CostlyObject]) -> None:
    print(json.dumps(await _in_cluster(running, case, objects)), flush=True)
    maps = {each["metadata"]["name"]: each for each in await running.list(CONFIG_MAPS)}
    sources = variables.EnvVarSources(maps, services=await running.list(SERVICES), pod_ips=("10.244.0.2",))
    print(json.dumps(_in_kubelet(case, await running.list(PODS), sources)), flush=True)
    await _remove(running)


async def _remove(running: Cluster) -> None:
    """Jobs first, which would replace their pods."""
    for resource in (BATCH_JOBS, PODS, SERVICES):
        for each in await running.list(resource):
            with contextlib.suppress(errors.NotFound):
                await running.client.delete(resource, NAMESPACE, each["metadata"]["name"], grace=0)
        await _idle()


async def _add_nodes(running: Cluster) -> None:
    for node in ("machine", "other"):
        await running.create(NODES, {"metadata": {"name": node, "labels": {costly_pods.HOST: node, "zone": "a"}}})
        allocatable = {"cpu": "64", "memory": "64Gi", "pods": "1000"}
        ready = [{"type": "Ready", "status": "True"}]
        await running.patch(NODES, node, {"status": {"allocatable": allocatable, "conditions": ready}}, "status")


@contextlib.asynccontextmanager
async def _running(data: pathlib.Path) -> AsyncIterator[Cluster]:
    async with cluster(data) as running, running_controllers(running):
        client = running.control_plane.system_client("kube-scheduler")
        scheduler = asyncio.create_task(Scheduler(client, Profile()).run())
        await _add_nodes(running)
        try:
            yield running
        finally:
            scheduler.cancel()
            await asyncio.gather(scheduler, return_exceptions=True)


async def _run(data: pathlib.Path, number: int) -> None:
    """With the cycle collector as in the daemon."""
    async with _running(data) as running:
        await running.create(CONFIG_MAPS, costly_pods.large_config_map())
        with gc_tuning.tuned():
            await _measure(running, ENLARGED, costly_pods.enlarged(number))
            for case in costly_pods.CASES:
                await _measure(running, case.__name__, case())


if __name__ == "__main__":
    asyncio.run(_run(pathlib.Path(sys.argv[1]), int(sys.argv[2])))
