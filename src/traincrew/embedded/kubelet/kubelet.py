"""The kubelet: composes its parts and runs them. It works with any Kubernetes API server."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import ssl
from collections.abc import AsyncIterator, Callable

from traincrew import settings
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.embedded.kubelet.devices import inventory
from traincrew.embedded.kubelet.images import ImageResolver, tools_directory
from traincrew.embedded.kubelet.lifecycle.observed import Rejection
from traincrew.embedded.kubelet.lifecycle.sysctl_admission import SysctlAllowlist
from traincrew.embedded.kubelet.logs.retention import LogRetention
from traincrew.embedded.kubelet.network import api_gateway
from traincrew.embedded.kubelet.network.names_file import NamesFileWriter
from traincrew.embedded.kubelet.network.zone_publisher import ZonePublisher
from traincrew.embedded.kubelet.node import conditions
from traincrew.embedded.kubelet.node.machine import Machine, NodeIdentity
from traincrew.embedded.kubelet.node.node_lease import NodeLease
from traincrew.embedded.kubelet.node.node_status import NodeStatusUpdater
from traincrew.embedded.kubelet.objects.object_cache import ObjectCache
from traincrew.embedded.kubelet.pods import state_directory, storage_limits
from traincrew.embedded.kubelet.pods.container_config import ContainerConfigBuilder, ContainerLogs
from traincrew.embedded.kubelet.pods.container_envvars import EnvironmentBuilder, HostEnvironment
from traincrew.embedded.kubelet.pods.device_assignments import DeviceAssignments
from traincrew.embedded.kubelet.pods.event_recorder import PodEventRecorder
from traincrew.embedded.kubelet.pods.executor import PodExecutor
from traincrew.embedded.kubelet.pods.managed_pod import ManagedPod
from traincrew.embedded.kubelet.pods.pod_cache import PodCache
from traincrew.embedded.kubelet.pods.pod_network import PodNetwork
from traincrew.embedded.kubelet.pods.pod_worker import PodWorker
from traincrew.embedded.kubelet.pods.prober import Prober
from traincrew.embedded.kubelet.pods.sandbox_config import SandboxConfigBuilder
from traincrew.embedded.kubelet.pods.sandboxes import Sandboxes
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.pods.status_manager import StatusManager
from traincrew.embedded.kubelet.pods.sync_loop import PodWorkers, SyncLoop
from traincrew.embedded.kubelet.pods.volume_mounts import VolumeMounts
from traincrew.embedded.kubelet.runtime.spec import Isolation
from traincrew.embedded.kubelet.runtime.streaming import StreamingRuntime
from traincrew.embedded.kubelet.runtime_setup import DataLayout, RuntimeSetup, tear_down
from traincrew.embedded.kubelet.server import server
from traincrew.embedded.kubelet.server.pod_streams import PodStreams
from traincrew.embedded.kubelet.stats import endpoints
from traincrew.embedded.kubelet.stats.collector import StatsCollector
from traincrew.embedded.kubelet.volumes import VolumeHost
from traincrew.serving import background_tasks

SHM_SHARE = 2
"""The shared memory of a pod is limited to the memory of the machine divided by this."""


@dataclasses.dataclass(frozen=True)
class KubeletConfig:
    data: pathlib.Path
    version: str
    api_server: tuple[str, int]
    """Host and port of the API server, as this process connects to it."""
    tls: ssl.SSLContext
    auth: server.KubeletAuth
    address: str = "127.0.0.1"
    """The address at which the API server reaches the kubelet."""
    wrap_streams: Callable[[StreamingRuntime], StreamingRuntime] = lambda streams: streams
    """Adds the streams of other pods of this node."""
    authority: str = ""
    """PEM: the authority of the certificate of `tls`, if it is not that of the cluster."""


@dataclasses.dataclass(frozen=True)
class Kubelet:
    identity: NodeIdentity
    sync_loop: SyncLoop
    stats: StatsCollector
    setup: RuntimeSetup

    async def stop(self, grace: float) -> None:
        """Terminates all pods within `grace` seconds and stops the pod network."""
        await self.sync_loop.shut_down(grace)
        if self.setup.netns is not None:
            await self.setup.netns.stop()


@contextlib.asynccontextmanager
async def run(
    client: interfaces.Client, options: settings.Node, config: KubeletConfig, setup: RuntimeSetup
) -> AsyncIterator[Kubelet]:
    started = False
    try:
        async with _run(client, options, config, setup) as kubelet:
            started = True
            yield kubelet
    except BaseException:
        if not started:
            await tear_down(setup, config.data)
        raise


class _Parts:
    """The composition of the kubelet: each part gets exactly what it needs, in the order of the dependencies."""

    def __init__(self, client: interfaces.Client, options: settings.Node, config: KubeletConfig, setup: RuntimeSetup) -> None:
        self._client, self._config, self._setup = client, config, setup
        self.layout = DataLayout(config.data)
        self.network = PodNetwork(setup.netns, config.address, self.layout.pods)
        self.workers = PodWorkers(self.network)
        self.stats = StatsCollector(self.workers.all, self.layout.logs)
        discovered = inventory.discover(options.devices, pathlib.Path(options.driver_root))
        self.devices = DeviceAssignments(discovered, self.layout.pods)
        self.machine = Machine.detect(config.data, discovered.counts)
        self.cache = PodCache(client, options.name)
        self.recorder = PodEventRecorder(client, options.name)
        self.objects = ObjectCache(client, self.workers.refresh_volumes)
        self.zone = ZonePublisher(client, setup.netns, options.domain)
        shm_bytes = self.machine.memory // SHM_SHARE
        sandbox_config = SandboxConfigBuilder(options.domain, config.data, shm_bytes, options.pod_pids)
        self.sandboxes = Sandboxes(
            setup.template, self.network, self.devices, sandbox_config, self.machine.boot_id, self.layout.unremoved
        )
        host = HostEnvironment(client, options.domain, config.api_server, self.layout.names_file)
        unisolated = host if setup.isolation is Isolation.NONE else None
        self.environment = EnvironmentBuilder(
            self.objects, self.zone.services, config.address, self.machine.allocatable, options.domain, unisolated
        )
        tools = tools_directory.prepare(config.data, self.layout.exec_sockets)
        self.images = ImageResolver.load(config.data, tools, options.strict_images)
        self.logs = ContainerLogs(self.layout.logs, options.logs)
        self._sysctls = SysctlAllowlist.with_unsafe(options.allowed_unsafe_sysctls)
        self.sync_loop = SyncLoop(self.cache, self.workers, self.new_worker, self.sandboxes, self.layout.pods)

    def new_worker(self, obj: Object) -> PodWorker:
        directory = state_directory.of(self.layout.pods, obj)
        pod = ManagedPod(obj, directory, self._config.address, self.layout.exec_sockets / f"{directory.uid}.sock")
        mounts = VolumeMounts(directory, self.objects, self.recorder, self.volume_host, self._setup.template.remove)
        containers = ContainerConfigBuilder(pod, self.images, self.environment, mounts, self.devices, self.logs)
        prober = Prober(pod, self.network)
        executor = PodExecutor(pod, self.cache, self.sandboxes, mounts, containers, prober, self.logs)
        status = StatusManager(self._client, pod, self.cache)
        return PodWorker(pod, executor, status, self.recorder, self.sandboxes, self.admit)

    def admit(self, pod_spec: Object) -> Rejection | None:
        return self._sysctls.admit(pod_spec, shares_host_namespaces=self._setup.isolation is Isolation.NONE)

    def volume_host(self, directory: PodStateDirectory) -> VolumeHost:
        # Read each time: a netns daemon that dies is replaced.
        netns, isolation = self._setup.netns, self._setup.isolation
        userns, single = (netns.pid, netns.ids) if netns is not None else (0, "")
        return VolumeHost(directory.path, self._config.data, isolation, userns, single, self.machine.allocatable)


@contextlib.asynccontextmanager
async def _run(
    client: interfaces.Client, options: settings.Node, config: KubeletConfig, setup: RuntimeSetup
) -> AsyncIterator[Kubelet]:
    parts = _Parts(client, options, config, setup)
    logs, workers = parts.layout.logs, parts.workers
    async with contextlib.AsyncExitStack() as stack:
        app = server.application(
            config.wrap_streams(PodStreams(workers, logs)), config.auth, _stats_pages(parts.stats, options.name)
        )
        listening = await stack.enter_async_context(server.serve(app, config.address, 0, config.tls))
        labels = {conditions.ISOLATION_LABEL: str(setup.isolation)}
        identity = NodeIdentity(options.name, config.address, listening, config.version, options.pods, labels, config.authority)
        reported = conditions.node_conditions(setup.isolation, setup.unavailable, setup.netns, setup.cgroups.warning)
        status = NodeStatusUpdater(client, identity, parts.machine, reported)
        await status.register()
        stack.push_async_callback(parts.objects.close)
        stack.push_async_callback(setup.template.close)
        lease = NodeLease(client, options.name, status)
        running = [status.run(), lease.run(), parts.zone.run(), parts.stats.run(), parts.recorder.run()]
        if setup.netns is None:
            running.append(NamesFileWriter(client, parts.layout.names_file, options.domain).run())
        await stack.enter_async_context(background_tasks.running(*running))
        await _forward_api_server(client, config, setup, stack)
        await parts.zone.synced()
        await stack.enter_async_context(parts.sync_loop.running())
        eviction = storage_limits.StorageEviction(workers, logs)
        retention = LogRetention(options.logs.days, options.logs.total_bytes)
        removal = storage_limits.remove_expired_logs(workers, logs, retention)
        await stack.enter_async_context(background_tasks.running(eviction.run(), removal))
        yield Kubelet(identity, parts.sync_loop, parts.stats, setup)


async def _forward_api_server(
    client: interfaces.Client, config: KubeletConfig, setup: RuntimeSetup, stack: contextlib.AsyncExitStack
) -> None:
    """Makes the Service `kubernetes` reachable from the pod network."""
    if setup.netns is not None and (service := await api_gateway.kubernetes_service(client)) is not None:
        gateway = api_gateway.ApiGateway(*config.api_server)
        await stack.enter_async_context(gateway.open(setup.netns, *service))


def _stats_pages(stats: StatsCollector, node: str) -> dict[str, server.Page]:
    def resource_metrics() -> tuple[str, str]:
        return "text/plain; version=0.0.4; charset=utf-8", endpoints.resource_metrics(stats.last)

    def summary() -> tuple[str, str]:
        return "application/json", json.dumps(endpoints.summary(node, stats.last, stats.rates))

    return {"/metrics/resource": resource_metrics, "/stats/summary": summary}
