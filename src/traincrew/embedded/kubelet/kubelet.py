"""The node as a whole: its parts in the order in which they need each other. The same on either API server."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import pathlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

from traincrew import settings
from traincrew.client import port
from traincrew.embedded.kubelet.devices import inventory
from traincrew.embedded.kubelet.images import ImageResolver
from traincrew.embedded.kubelet.images import tools_directory as own_tools
from traincrew.embedded.kubelet.network import api_gateway
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.network.names_file import NamesFileWriter
from traincrew.embedded.kubelet.network.zone_publisher import ZonePublisher
from traincrew.embedded.kubelet.node import conditions
from traincrew.embedded.kubelet.node.machine import Machine, NodeIdentity
from traincrew.embedded.kubelet.node.registration import Registration
from traincrew.embedded.kubelet.objects.object_cache import ObjectCache
from traincrew.embedded.kubelet.pods.address_pool import AddressPool
from traincrew.embedded.kubelet.pods.device_assignments import DeviceAssignments
from traincrew.embedded.kubelet.pods.event_recorder import PodEventRecorder
from traincrew.embedded.kubelet.pods.sync_loop import PodWorkers, SyncLoop
from traincrew.embedded.kubelet.pods.tools import Tools
from traincrew.embedded.kubelet.runtime.spec import Isolation
from traincrew.embedded.kubelet.runtime.streaming import StreamingRuntime
from traincrew.embedded.kubelet.runtime_setup import RuntimeSetup, tear_down
from traincrew.embedded.kubelet.server import server
from traincrew.embedded.kubelet.server.pod_streams import PodStreams
from traincrew.embedded.kubelet.stats import endpoints as stats_endpoints
from traincrew.embedded.kubelet.stats.collector import StatsCollector

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class KubeletConfig:
    """Where the node stands."""

    data: pathlib.Path
    version: str
    api: tuple[str, int]
    """Host and port of the API server, as this process reaches it."""
    context: ssl.SSLContext
    callers: server.KubeletAuth
    address: str = "127.0.0.1"
    """At which the API server reaches the endpoints."""
    beside: Callable[[StreamingRuntime], StreamingRuntime] = lambda own: own
    """Endpoints of other pods on this node, put before the node's own."""


@dataclasses.dataclass(frozen=True)
class Kubelet:
    agent: SyncLoop
    place: NodeIdentity
    meter: StatsCollector
    isolation: Isolation
    stop: Callable[[float], Awaitable[None]]
    """Ends all pods, which get that many seconds at most, and what carries them."""


@contextlib.asynccontextmanager
async def run(client: port.Client, options: settings.Node, site: KubeletConfig, ground: RuntimeSetup) -> AsyncIterator[Kubelet]:
    begun = False
    try:
        async with _at_work(client, options, site, ground) as found:
            begun = True
            yield found
    except BaseException:
        if not begun:
            await tear_down(ground, site.data)
        raise


@contextlib.asynccontextmanager
async def _at_work(
    client: port.Client, options: settings.Node, site: KubeletConfig, ground: RuntimeSetup
) -> AsyncIterator[Kubelet]:
    pods = PodWorkers()
    async with contextlib.AsyncExitStack() as stack:
        endpoints = site.beside(PodStreams(pods, site.data / "logs"))
        meter = StatsCollector(pods.all)
        app = server.application(endpoints, site.callers, _pages(meter, options.name))
        serving = server.serve(app, site.address, 0, site.context)
        labels = {conditions.LEVEL: str(ground.isolation)}
        place = NodeIdentity(
            options.name, site.address, await stack.enter_async_context(serving), site.version, options.pods, labels
        )
        names = ZonePublisher(client, ground.netns, options.domain)
        objects = ObjectCache(client, pods.changed)
        stack.push_async_callback(objects.close)
        tools = _tools(client, options, site, ground, place, names, objects)
        registration = Registration(client, place, tools.machine)
        for kind, condition in conditions.of(ground.isolation, ground.unavailable, ground.netns).items():
            registration.set(kind, condition)
        await registration.register()
        agent = SyncLoop(tools, pods)
        tasks = [asyncio.create_task(each.run()) for each in (registration, names, meter)]
        if ground.netns is None:
            tasks.append(asyncio.create_task(NamesFileWriter(client, tools.names, options.domain).run()))
        if ground.netns is not None and (service := await api_gateway.kubernetes_service(client)) is not None:
            await stack.enter_async_context(api_gateway.ApiGateway(*site.api).open(ground.netns, *service))
        await names.synced()
        await stack.enter_async_context(agent.running())
        try:
            yield Kubelet(agent, place, meter, ground.isolation, lambda grace: _stop(agent, ground, grace))
        finally:
            for task in tasks:
                task.cancel()
            await ground.template.close()


def _pages(meter: StatsCollector, name: str) -> dict[str, server.Page]:
    def resources() -> tuple[str, str]:
        return "text/plain; version=0.0.4; charset=utf-8", stats_endpoints.resource_metrics(meter.last)

    def summary() -> tuple[str, str]:
        return "application/json", json.dumps(stats_endpoints.summary(name, meter.last, meter.rates))

    return {"/metrics/resource": resources, "/stats/summary": summary}


async def _stop(agent: SyncLoop, ground: RuntimeSetup, grace: float) -> None:
    await agent.shut_down(grace)
    if ground.netns is not None:
        await ground.netns.stop()


def _tools(
    client: port.Client,
    options: settings.Node,
    site: KubeletConfig,
    ground: RuntimeSetup,
    place: NodeIdentity,
    names: ZonePublisher,
    objects: ObjectCache,
) -> Tools:
    devices = DeviceAssignments(
        inventory.discover(options.devices, pathlib.Path(options.driver_root)), site.data / "node" / "pods"
    )
    return Tools(
        client=client,
        learn=lambda pod: pod,
        options=options,
        data=site.data,
        place=place,
        machine=Machine.look(site.data, devices.inventory.counts),
        isolation=ground.isolation,
        template=ground.template,
        holder=ground.netns,
        images=ImageResolver.load(site.data, own_tools.prepare(site.data, site.data / "node" / "doors"), options.strict_images),
        objects=objects,
        recorder=PodEventRecorder(client, place.name),
        services=names.services,
        pool=AddressPool(Subnet.parse(ground.netns.subnet), site.data / "node" / "pods") if ground.netns is not None else None,
        devices=devices,
        api=site.api,
    )
