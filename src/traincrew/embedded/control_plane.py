"""The control plane in one process: storage, registry, authentication, authorization and the request handler."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
from collections.abc import Iterable

import msgspec

from traincrew import errors, settings
from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock
from traincrew.embedded import private_files
from traincrew.embedded.apiserver.audit.audit_log import AuditLog
from traincrew.embedded.apiserver.authn import stored_credentials, users
from traincrew.embedded.apiserver.authn.authentication import Authenticator
from traincrew.embedded.apiserver.authn.service_account_tokens import Tokens
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy
from traincrew.embedded.apiserver.endpoints import metrics_api, selection
from traincrew.embedded.apiserver.endpoints.dispatch import Handler
from traincrew.embedded.apiserver.endpoints.in_process_client import InProcessClient
from traincrew.embedded.apiserver.endpoints.reviews import ReviewHandler
from traincrew.embedded.apiserver.registry.resources import Registry
from traincrew.embedded.apiserver.requests.scope import RequestScope, ServerIdentity, decoded
from traincrew.embedded.apiserver.schema import builtin_kinds
from traincrew.embedded.apiserver.storage.records import RecordChange, SelectableFields
from traincrew.embedded.apiserver.storage.store import Store
from traincrew.embedded.bootstrap import BootstrapObjects
from traincrew.embedded.data_directory import DataDirectory
from traincrew.embedded.pki import certificates
from traincrew.model.resources import Resource
from traincrew.scheduling import decisions as scheduling_decisions
from traincrew.serving import background_tasks

CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CRDS = "customresourcedefinitions.apiextensions.k8s.io"
ROLES = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
NOT_COLLECTED = ("events", "leases.coordination.k8s.io")
"""Resources without owners and with many objects: the garbage collector does not watch them."""


@dataclasses.dataclass(frozen=True)
class Options:
    data: pathlib.Path
    host: str
    port: int
    bootstrap: BootstrapObjects
    log: pathlib.Path
    version: str
    preferred_port: int = 0
    """Used if `port` is 0 and no other process uses it."""
    audit_log: str = ""
    controllers: bool = True
    scheduling: scheduling_decisions.Profile | None = None
    """The profile of the scheduler. None: no scheduler runs."""
    node: settings.Node | None = None
    """The settings of the kubelet. None: no kubelet runs."""
    controller_names: tuple[str, ...] = ()
    """The controllers of jobs, services, volumes and autoscalers that run; empty: all."""


class ControlPlane:
    """The API server without its HTTP front end: enough for a client within the process."""

    def __init__(self, options: Options) -> None:
        self.options = options
        private_files.ensure_directory(options.data)
        self.registry = Registry((*builtin_kinds.load().resources(), *metrics_api.RESOURCES), clock.timestamp)
        self.registry.trust(options.bootstrap.crds)
        self.store = Store.open(options.data / "cluster.db", self._describe, used=DataDirectory(options.data).exists())
        self.policy = RBACPolicy()
        self.tokens = Tokens(stored_credentials.signing_key(options.data), self._lookup)
        self.admin_token = stored_credentials.admin_token(options.data)
        self.authenticator = Authenticator(self.admin_token, self.tokens)
        self.pki = certificates.ensure(options.data / "pki", certificates.names(options.host))
        self.cluster = RequestScope(self.store, self.registry, self.policy, ServerIdentity(self.pki.authority, self.tokens))
        self.cluster.controllers_enabled = options.controllers
        reviewing = ReviewHandler(self.cluster, self.policy, self.tokens, self.authenticator)
        self._audit_log = AuditLog(options.audit_log)
        self.handler = Handler(self.cluster, reviewing, self._audit_log)
        self._aggregations: set[asyncio.Task[None]] = set()
        self._load()

    def _describe(self, resource: str, obj: Object) -> SelectableFields:
        return selection.describe(resource, obj, self.registry.selectable)

    def _lookup(self, plural: str, namespace: str, name: str) -> Object | None:
        return self.cluster.object(plural, namespace, name)

    def _load(self) -> None:
        for record in self.store.list(CRDS):
            self.registry.define(decoded(record))
        self.store.listeners[CRDS] = [self._crd_changed]
        for plural in ROLES:
            resource = f"{plural}.rbac.authorization.k8s.io"
            for record in self.store.list(resource):
                self.policy.put(decoded(record))
            self.store.listeners[resource] = [self._role_changed]

    def _crd_changed(self, change: RecordChange) -> None:
        name = change.record.key.name
        selectable = self.registry.selectable(name)
        if change.type == "DELETED":
            self.registry.undefine(name)
        else:
            self.registry.define(decoded(change.record))
        if change.type == "DELETED" or self.registry.selectable(name) != selectable:
            self.store.reindex(name)
            self.store.change_logs.of(name).end_watches()

    def _role_changed(self, change: RecordChange) -> None:
        obj = decoded(change.record)
        if change.type == "DELETED":
            self.policy.remove(obj["kind"], change.record.key.namespace, change.record.key.name)
        else:
            self.policy.put(obj)
        if obj["kind"] == "ClusterRole" and self.policy.outdated_aggregated_roles():
            task = background_tasks.start(background_tasks.keep_running("role aggregation", self._aggregate_roles))
            self._aggregations.add(task)
            task.add_done_callback(self._aggregations.discard)

    async def _aggregate_roles(self) -> None:
        """Writes the rules of aggregated ClusterRoles into them. Raises ApiError."""
        client = self.system_client("clusterrole-aggregation-controller")
        for name, rules in self.policy.outdated_aggregated_roles():
            with contextlib.suppress(errors.NotFound):
                await client.patch(CLUSTER_ROLES, None, name, msgspec.json.encode({"rules": rules}))

    def client(self, user: users.User, agent: str) -> InProcessClient:
        return InProcessClient(self.handler, user, agent)

    async def close(self) -> None:
        """Closes the database and the audit log. No request may be in progress."""
        await background_tasks.cancel(*self._aggregations)
        await self.store.close()
        self._audit_log.close()

    def system_client(self, agent: str) -> InProcessClient:
        """A client with all rights: for the components of the cluster."""
        return self.client(users.User(f"system:{agent}", (users.MASTERS, users.AUTHENTICATED)), agent)

    def deletable(self) -> Iterable[Resource]:
        """Every resource whose objects are deleted with their namespace."""
        for info in self.registry.preferred():
            if {"list", "delete"} <= set(info.verbs):
                yield Resource(info.group, info.version, info.plural, info.kind, info.namespaced)

    def watchable(self) -> Iterable[Resource]:
        """Every resource that the garbage collector watches, each in one version."""
        for info in self.registry.preferred():
            if "watch" in info.verbs and info.store_name not in NOT_COLLECTED:
                yield Resource(info.group, info.version, info.plural, info.kind, info.namespaced)
