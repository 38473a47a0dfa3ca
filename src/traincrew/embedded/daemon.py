"""The embedded cluster: control plane, controllers, scheduler, HTTP front end and kubelet, started in this order."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import pathlib
import ssl
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from traincrew import errors, settings
from traincrew.embedded import admin_kubeconfig, bootstrap, gc_tuning, mirror_pod
from traincrew.embedded.apiserver.endpoints.health_checks import HealthChecks
from traincrew.embedded.apiserver.endpoints.non_resource_urls import NonResourceHandler
from traincrew.embedded.apiserver.endpoints.pod_streams import PodStreamHandler
from traincrew.embedded.apiserver.http import origins
from traincrew.embedded.apiserver.http.authentication_filter import AuthenticationFilter
from traincrew.embedded.apiserver.http.server import ApiServer
from traincrew.embedded.control_plane import ControlPlane, Options
from traincrew.embedded.controllers.claims import provisioner
from traincrew.embedded.controllers.nodes.health import TIMING
from traincrew.embedded.controllers.run import Controllers, MetadataControllers
from traincrew.embedded.kubelet.server import server as kubelet_server
from traincrew.embedded.kubernetes_service import KubernetesServiceController
from traincrew.embedded.mirror_pod_log import MirrorPodLog
from traincrew.embedded.pki import certificates
from traincrew.embedded.scheduler import Scheduler
from traincrew.serving import background_tasks

if TYPE_CHECKING:
    from traincrew.embedded.kubelet import kubelet
    from traincrew.embedded.kubelet.runtime_setup import RuntimeSetup

SHUTDOWN_SECONDS = 5.0
"""How long controllers may take to end."""


@dataclasses.dataclass(frozen=True)
class RunningCluster:
    control_plane: ControlPlane
    url: str
    kubeconfig: pathlib.Path
    kubelet: kubelet.Kubelet | None


@contextlib.asynccontextmanager
async def run(options: Options) -> AsyncIterator[RunningCluster]:
    """Runs the cluster inside the block."""
    control_plane = ControlPlane(options)
    # The runtime starts other processes, which takes a while: they start while the bootstrap objects are created.
    runtime = asyncio.create_task(_set_up_runtime(options.node, options.data)) if options.node is not None else None
    started = False
    try:
        await bootstrap.bootstrap(control_plane.system_client("bootstrap"), options.bootstrap)
        async with contextlib.AsyncExitStack() as stack:
            tasks = await stack.enter_async_context(_controllers(control_plane, runtime)) if options.controllers else {}
            url = await stack.enter_async_context(_http_server(control_plane, tasks))
            kubeconfig = options.data / "kubeconfig"
            admin_kubeconfig.write(kubeconfig, url, control_plane.pki.authority, control_plane.admin_token)
            await stack.enter_async_context(_kubernetes_service(control_plane, url))
            node = await stack.enter_async_context(_kubelet(control_plane, url, runtime))
            await stack.enter_async_context(_mirror_pod(control_plane))
            stack.enter_context(gc_tuning.tuned())
            started = True
            yield RunningCluster(control_plane, url, kubeconfig, node)
    finally:
        if runtime is not None and not started:
            await _tear_down_runtime(runtime, options.data)
        await control_plane.close()


@contextlib.asynccontextmanager
async def _controllers(
    control_plane: ControlPlane, runtime: asyncio.Task[RuntimeSetup] | None
) -> AsyncIterator[Mapping[str, asyncio.Task[None]]]:
    client, options = control_plane.system_client, control_plane.options
    metadata = MetadataControllers(client, control_plane.watchable, control_plane.deletable)
    control_plane.registry.on_change.append(metadata.resources_changed)
    volumes = options.data.resolve() / "volumes"
    # Without a kubelet of ours nobody schedules pods either: whoever joins nodes brings kube-controller-manager.
    nodes = TIMING if options.node is not None else None
    controllers = Controllers(
        client,
        volumes,
        options.controller_names,
        remove=_volume_remover(runtime),
        nodes=nodes,
        authority=control_plane.pki.authority,
    )
    works: dict[str, Coroutine[Any, Any, None]] = {"metadata-controllers": metadata.run(), "controllers": controllers.run()}
    if options.scheduling is not None:
        works["scheduler"] = Scheduler(client("kube-scheduler"), options.scheduling).run()
    tasks = {name: background_tasks.start(work) for name, work in works.items()}
    try:
        yield tasks
    finally:
        for task in tasks.values():
            task.cancel()
        # None of them may use the store after it is closed.
        await asyncio.wait(tasks.values(), timeout=SHUTDOWN_SECONDS)


def _ended(task: asyncio.Task[None]) -> str:
    """A controller runs as long as the cluster."""
    return "ended, see the log" if task.done() else ""


def _volume_remover(runtime: asyncio.Task[RuntimeSetup] | None) -> provisioner.Remove:
    """With a node, volumes are removed with the rights of the pods, who own files in them, and in another process."""
    if runtime is None:
        return provisioner.remove_in_thread

    async def remove(path: pathlib.Path) -> None:
        await (await asyncio.shield(runtime)).template.remove(path)

    return remove


@contextlib.asynccontextmanager
async def _http_server(control_plane: ControlPlane, tasks: Mapping[str, asyncio.Task[None]]) -> AsyncIterator[str]:
    """Yields the URL of the API server."""
    options, names = control_plane.options, control_plane.pki.names
    authentication = AuthenticationFilter(origins.allowed_origins(names, 0), control_plane.authenticator, control_plane.policy)
    ready = {name: functools.partial(_ended, task) for name, task in tasks.items()}
    health = HealthChecks({"storage": lambda: control_plane.store.problem, **ready})
    pages = NonResourceHandler(control_plane.registry, "", health)
    streaming = PodStreamHandler(control_plane.cluster, control_plane.pki.kubelet_context)
    server = ApiServer(control_plane.handler, authentication, pages, streaming)
    port = await _listen(server, options, control_plane.pki.server_context())
    authentication.allowed_origins = origins.allowed_origins(names, port)
    # A wildcard address cannot be called: clients on this machine use the loopback address.
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)  # noqa: S104
    host = f"[{address}]" if ":" in address else address
    pages.address = f"{host}:{port}"
    try:
        yield f"https://{host}:{port}"
    finally:
        await server.stop()


async def _listen(server: ApiServer, options: Options, context: ssl.SSLContext) -> int:
    """Returns the port."""
    if not options.port and options.preferred_port:
        with contextlib.suppress(errors.SettingsError):
            return await server.start(options.host, options.preferred_port, context)
    return await server.start(options.host, options.port, context)


def _kubernetes_service(control_plane: ControlPlane, url: str) -> contextlib.AbstractAsyncContextManager[None]:
    port = int(url.rpartition(":")[2])
    return KubernetesServiceController(control_plane.system_client("kubernetes-service"), port).maintained()


def _mirror_pod(control_plane: ControlPlane) -> contextlib.AbstractAsyncContextManager[None]:
    options = control_plane.options
    beside = bootstrap.objects_in(options.bootstrap, mirror_pod.NAMESPACE)
    return mirror_pod.MirrorPod(control_plane.system_client("node"), options.version, beside).maintained()


@contextlib.asynccontextmanager
async def _kubelet(
    control_plane: ControlPlane, url: str, runtime: asyncio.Task[RuntimeSetup] | None
) -> AsyncIterator[kubelet.Kubelet | None]:
    """Runs the kubelet, or without a node only the kubelet server that serves the log of the operator's mirror pod."""
    options, client = control_plane.options, control_plane.system_client("node")
    own_log = MirrorPodLog(options.log, mirror_pod.NAMESPACE, mirror_pod.POD)
    auth = kubelet_server.KubeletAuth(names=frozenset({certificates.KUBELET_CLIENT}))
    context = control_plane.pki.server_context()
    if runtime is None or options.node is None:
        async with kubelet_server.serve(kubelet_server.application(own_log, auth), "127.0.0.1", 0, context) as port:
            await mirror_pod.register_node(client, port, options.version)
            yield None
        return
    from traincrew.embedded import kubelet_metrics
    from traincrew.embedded.kubelet import kubelet

    host, _, port_text = url.removeprefix("https://").rpartition(":")
    api = (host.strip("[]"), int(port_text))
    config = kubelet.KubeletConfig(options.data, options.version, api, context, auth, wrap_streams=own_log.before)
    async with kubelet.run(client, options.node, config, await runtime) as node:
        control_plane.cluster.metrics = kubelet_metrics.from_collector(node.stats, node.identity.name)
        yield node


async def _set_up_runtime(options: settings.Node, data: pathlib.Path) -> RuntimeSetup:
    # Imported here: an API server without a node need not load the kubelet.
    from traincrew.embedded.kubelet.runtime_setup import prepare

    return await prepare(options, data)


async def _tear_down_runtime(runtime: asyncio.Task[RuntimeSetup], data: pathlib.Path) -> None:
    from traincrew.embedded.kubelet.runtime_setup import tear_down

    with contextlib.suppress(errors.TraincrewError, OSError):
        await tear_down(await runtime, data)
