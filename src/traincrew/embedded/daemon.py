"""The embedded cluster as a whole: its parts in the order in which they need each other."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import pathlib
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

import msgspec

from traincrew import errors, settings
from traincrew.apimachinery.resource_info import Object
from traincrew.client import clock
from traincrew.embedded import admin_kubeconfig, bootstrap, gc_tuning, mirror_pod, private_files
from traincrew.embedded.apiserver.audit.audit_log import AuditLog
from traincrew.embedded.apiserver.authn import stored_credentials, users
from traincrew.embedded.apiserver.authn.authentication import Authenticator
from traincrew.embedded.apiserver.authn.service_account_tokens import Tokens
from traincrew.embedded.apiserver.authz.rbac import Policy
from traincrew.embedded.apiserver.endpoints import metrics_api, selection
from traincrew.embedded.apiserver.endpoints.dispatch import Handler
from traincrew.embedded.apiserver.endpoints.in_process_client import InProcessClient
from traincrew.embedded.apiserver.endpoints.non_resource_urls import NonResourceHandler
from traincrew.embedded.apiserver.endpoints.pod_streams import PodStreamHandler
from traincrew.embedded.apiserver.endpoints.reviews import ReviewHandler
from traincrew.embedded.apiserver.http import origins
from traincrew.embedded.apiserver.http.authentication_filter import AuthenticationFilter
from traincrew.embedded.apiserver.http.server import ApiServer
from traincrew.embedded.apiserver.registry.resources import Registry
from traincrew.embedded.apiserver.requests.scope import Identity, RequestScope, decoded
from traincrew.embedded.apiserver.schema import builtin_kinds
from traincrew.embedded.apiserver.storage.records import Change, SelectableFields
from traincrew.embedded.apiserver.storage.store import Store
from traincrew.embedded.bootstrap import Furniture, furnish
from traincrew.embedded.controllers.run import Controllers, MetadataControllers
from traincrew.embedded.kubelet.server import server as server_server
from traincrew.embedded.mirror_pod_log import OwnLog
from traincrew.embedded.pki import certificates
from traincrew.embedded.scheduler import Scheduler
from traincrew.model.resources import Resource
from traincrew.scheduling.decisions import Profile as Placing

if TYPE_CHECKING:
    from traincrew.embedded.kubelet import kubelet as kubelet_kubelet
    from traincrew.embedded.kubelet.runtime_setup import RuntimeSetup

log = logging.getLogger(__name__)

CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CRDS = "customresourcedefinitions.apiextensions.k8s.io"
ROLES = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
LAST_HANDS = 5.0
"""Seconds that controllers get to end."""
UNCOLLECTED = ("events", "leases.coordination.k8s.io")
"""Nobody owns these, and there are many: the garbage collector does not look at them."""


@dataclasses.dataclass(frozen=True)
class Options:
    data: pathlib.Path
    host: str
    port: int
    furniture: Furniture
    log: pathlib.Path
    version: str
    audit_log: str = ""
    controllers: bool = True
    placement: Placing | None = None
    """How pods are given nodes; None: not at all, some other scheduler does it."""
    node: settings.Node | None = None
    """How this machine runs pods; None: it does not."""
    only: tuple[str, ...] = ()
    """Of the controllers of jobs, services, volumes and autoscalers those to run; none: all."""


class Daemon:
    """The parts that need no network: made at once, and enough for a client within the process."""

    def __init__(self, options: Options) -> None:
        self.options = options
        private_files.ensure_directory(options.data)
        self.registry = Registry((*builtin_kinds.load().resources(), *metrics_api.RESOURCES), clock.timestamp)
        self.registry.trust(options.furniture.definitions)
        self.store = Store.open(options.data / "cluster.db", self._describe)
        self.policy = Policy()
        self.tokens = Tokens(stored_credentials.signing_key(options.data), self._lookup)
        self.admin_token = stored_credentials.admin_token(options.data)
        self.authenticator = Authenticator(self.admin_token, self.tokens)
        self.pki = certificates.ensure(options.data / "pki", certificates.names(options.host))
        self.cluster = RequestScope(self.store, self.registry, self.policy, Identity(self.pki.authority, self.tokens))
        self.cluster.accounts = options.controllers
        reviewing = ReviewHandler(self.cluster, self.policy, self.tokens, self.authenticator)
        self._audit_log = AuditLog(options.audit_log)
        self.handler = Handler(self.cluster, reviewing, self._audit_log)
        self._settling: asyncio.Task[None] | None = None
        self._listen()

    def _describe(self, resource: str, obj: Object) -> SelectableFields:
        return selection.describe(resource, obj, self.registry.selectable)

    def _lookup(self, plural: str, namespace: str, name: str) -> Object | None:
        return self.cluster.object(plural, namespace, name)

    def _listen(self) -> None:
        for record in self.store.list(CRDS):
            self.registry.define(decoded(record))
        self.store.listeners[CRDS] = [self._defined]
        for plural in ROLES:
            resource = f"{plural}.rbac.authorization.k8s.io"
            for record in self.store.list(resource):
                self.policy.put(decoded(record))
            self.store.listeners[resource] = [self._granted]

    def _defined(self, change: Change) -> None:
        if change.type == "DELETED":
            self.registry.undefine(change.record.key.name)
        else:
            self.registry.define(decoded(change.record))

    def _granted(self, change: Change) -> None:
        obj = decoded(change.record)
        if change.type == "DELETED":
            self.policy.remove(obj["kind"], change.record.key.namespace, change.record.key.name)
        else:
            self.policy.put(obj)
        if obj["kind"] == "ClusterRole" and self.policy.outdated_aggregated_roles():
            self._settling = asyncio.get_running_loop().create_task(self._settle())

    async def _settle(self) -> None:
        """Roles that gather the rules of others are shown with what they have gathered."""
        client = self.own_client("clusterrole-aggregation-controller")
        for name, rules in self.policy.outdated_aggregated_roles():
            with contextlib.suppress(errors.ApiError):
                await client.patch(CLUSTER_ROLES, None, name, msgspec.json.encode({"rules": rules}))

    def client(self, user: users.User, agent: str) -> InProcessClient:
        return InProcessClient(self.handler, user, agent)

    async def close(self) -> None:
        """Closes the database and the audit log. Nothing may be in progress any more."""
        await self.store.close()
        self._audit_log.close()

    def own_client(self, agent: str) -> InProcessClient:
        """With all rights: for the controllers of the cluster itself."""
        return self.client(users.User(f"system:{agent}", (users.MASTERS, users.AUTHENTICATED)), agent)

    def deletable(self) -> Iterable[Resource]:
        """Every resource whose objects go with their namespace."""
        for served in self.registry.preferred():
            if {"list", "delete"} <= set(served.verbs):
                yield Resource(served.group, served.version, served.plural, served.kind, served.namespaced)

    def watchable(self) -> Iterable[Resource]:
        """Every resource that controllers look after, each in one version."""
        for served in self.registry.preferred():
            if "watch" in served.verbs and served.store_name not in UNCOLLECTED:
                yield Resource(served.group, served.version, served.plural, served.kind, served.namespaced)


@dataclasses.dataclass(frozen=True)
class Running:
    daemon: Daemon
    url: str
    kubeconfig: pathlib.Path
    node: kubelet_kubelet.Kubelet | None
    """What runs the pods, if anything does."""


@contextlib.asynccontextmanager
async def running(options: Options) -> AsyncIterator[Running]:
    """Serves while it is entered."""
    daemon = Daemon(options)
    # It takes other processes a while to start: they may as well do so while namespaces and roles are made.
    ground = asyncio.create_task(_ground(options.node, options.data)) if options.node is not None else None
    started = False
    try:
        await furnish(daemon.own_client("bootstrap"), options.furniture)
        async with contextlib.AsyncExitStack() as stack:
            if options.controllers:
                await stack.enter_async_context(_controllers(daemon))
            url = await stack.enter_async_context(_serving(daemon))
            path = options.data / "kubeconfig"
            admin_kubeconfig.write(path, url, daemon.pki.authority, daemon.admin_token)
            own = await stack.enter_async_context(_node(daemon, url, ground))
            await bootstrap.reached_at(daemon.own_client("bootstrap"), int(url.rpartition(":")[2]))
            around = bootstrap.within(options.furniture, mirror_pod.NAMESPACE)
            await stack.enter_async_context(mirror_pod.Shown(daemon.own_client("node"), options.version, around).kept())
            stack.enter_context(gc_tuning.calm())
            started = True
            yield Running(daemon, url, path, own)
    finally:
        if ground is not None and not started:
            await _left(ground, options.data)
        await daemon.close()


@contextlib.asynccontextmanager
async def _controllers(daemon: Daemon) -> AsyncIterator[None]:
    metadata = MetadataControllers(daemon.own_client, daemon.watchable, daemon.deletable)
    daemon.registry.on_change.append(metadata.resources_changed)
    others = Controllers(daemon.own_client, daemon.options.data.resolve() / "volumes", daemon.options.only)
    tasks = [asyncio.create_task(each.run()) for each in (metadata, others)]
    if daemon.options.placement is not None:
        scheduler = Scheduler(daemon.own_client("kube-scheduler"), daemon.options.placement)
        tasks.append(asyncio.create_task(scheduler.run()))
    for task in tasks:
        task.add_done_callback(_lament)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        # Waited for: none of them may ask a store that is closed.
        await asyncio.wait(tasks, timeout=LAST_HANDS)


def _lament(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        log.error("a controller has ended", exc_info=fault)


async def _ground(options: settings.Node, data: pathlib.Path) -> RuntimeSetup:
    # Imported here: an API server without a node need not load one.
    from traincrew.embedded.kubelet.runtime_setup import prepare

    return await prepare(options, data)


async def _left(ground: asyncio.Task[RuntimeSetup], data: pathlib.Path) -> None:
    from traincrew.embedded.kubelet.runtime_setup import tear_down

    with contextlib.suppress(errors.TraincrewError, OSError):
        await tear_down(await ground, data)


@contextlib.asynccontextmanager
async def _node(
    daemon: Daemon, url: str, ground: asyncio.Task[RuntimeSetup] | None
) -> AsyncIterator[kubelet_kubelet.Kubelet | None]:
    own = OwnLog(daemon.options.log, mirror_pod.NAMESPACE, mirror_pod.POD)
    callers = server_server.KubeletAuth(names=frozenset({certificates.KUBELET_CLIENT}))
    context, client, options = daemon.pki.server_context(), daemon.own_client("node"), daemon.options
    if ground is None or options.node is None:
        async with server_server.serve(server_server.application(own, callers), "127.0.0.1", 0, context) as port:
            await mirror_pod.show_node(client, port, options.version)
            yield None
        return
    from traincrew.embedded import metrics_source
    from traincrew.embedded.kubelet import kubelet as kubelet_kubelet

    host, _, port_text = url.removeprefix("https://").rpartition(":")
    site = kubelet_kubelet.KubeletConfig(
        options.data, options.version, (host.strip("[]"), int(port_text)), context, callers, beside=own.before
    )
    async with kubelet_kubelet.run(client, options.node, site, await ground) as found:
        daemon.cluster.metrics = metrics_source.by(found.meter, found.place.name)
        yield found


@contextlib.asynccontextmanager
async def _serving(daemon: Daemon) -> AsyncIterator[str]:
    gate = AuthenticationFilter(origins.allowed_origins(daemon.pki.names, 0), daemon.authenticator, daemon.policy)
    pages = NonResourceHandler(daemon.registry, "", lambda: True)
    streaming = PodStreamHandler(daemon.cluster, daemon.pki.kubelet_context())
    server = ApiServer(daemon.handler, gate, pages, streaming)
    port = await server.start(daemon.options.host, daemon.options.port, daemon.pki.server_context())
    gate.doors = origins.allowed_origins(daemon.pki.names, port)
    # Every interface is no address to call: who is on this machine takes the loopback.
    named = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(daemon.options.host, daemon.options.host)  # noqa: S104
    host = f"[{named}]" if ":" in named else named
    pages.address = f"{host}:{port}"
    try:
        yield f"https://{host}:{port}"
    finally:
        await server.stop()
