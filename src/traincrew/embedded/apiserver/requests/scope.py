"""The request scope: the store, the served resources, authorization and the clock of all handlers."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from traincrew.apimachinery import api_errors, times
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock
from traincrew.embedded.apiserver.authn.service_account_tokens import Tokens
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import attributes
from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy
from traincrew.embedded.apiserver.registry import rest_strategy
from traincrew.embedded.apiserver.registry.resources import Registry
from traincrew.embedded.apiserver.requests.metrics_source import MetricsSource
from traincrew.embedded.apiserver.storage.records import Key, Record
from traincrew.embedded.apiserver.storage.store import Store

Clock = Callable[[], dt.datetime]


class ServerIdentity(NamedTuple):
    """The keys of the API server."""

    authority: bytes
    """The certificate of the certificate authority, PEM."""
    tokens: Tokens


class RequestScope:
    def __init__(
        self, store: Store, registry: Registry, policy: RBACPolicy, identity: ServerIdentity, clock: Clock = clock.now
    ) -> None:
        self.store, self.registry, self.policy, self.identity, self.clock = store, registry, policy, identity, clock
        self.controllers_enabled = True
        """Whether the controllers run that some admission plugins need."""
        self.metrics: MetricsSource | None = None
        """Set by the daemon; None: no metrics are served."""

    def now(self) -> str:
        return times.rfc3339(self.clock())

    def authorize(self, user: User, requested: Attributes) -> None:
        """Raises StatusError."""
        if user.is_master:
            return
        allowed, reason = self.policy.allowed(user, requested)
        if not allowed:
            raise attributes.forbidden(user, requested, reason)

    @staticmethod
    def new_uid() -> str:
        # Not uuid4: it reads random bytes from the system, which releases the interpreter lock.
        return str(uuid.UUID(int=random.getrandbits(128), version=4))

    def strategy(self, info: ResourceInfo) -> rest_strategy.RestStrategy:
        return self.registry.strategy(info)

    def object(self, resource: str, namespace: str, name: str) -> Object | None:
        """The newest accepted state, on which every decision about a write is based."""
        record = self.store.head(Key(resource, namespace, name))
        return decoded(record) if record else None

    def existing(self, info: ResourceInfo, namespace: str, name: str) -> Record:
        record = self.store.head(Key(info.store_name, namespace, name))
        if record is None:
            raise api_errors.not_found(api_errors.StatusDetails(info.plural, info.group, name))
        return record


_decoder = msgspec.json.Decoder(dict)


def decoded(record: Record) -> Object:
    """A new copy."""
    return _decoder.decode(record.value)


def encoded(obj: Object) -> bytes:
    return msgspec.json.encode(obj)
