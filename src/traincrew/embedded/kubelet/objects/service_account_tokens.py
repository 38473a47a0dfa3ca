"""Service account tokens bound to pods, renewed after four fifths of their lifetime, or after a day."""

from __future__ import annotations

import asyncio
import datetime as dt
import random
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from traincrew import errors
from traincrew.client import clock, interfaces
from traincrew.model.resources import SERVICE_ACCOUNTS

DEFAULT_LIFETIME = 3600
MAX_TOKEN_AGE = dt.timedelta(hours=24)
JITTER = 10.0
RETRY = dt.timedelta(seconds=10)


class TokenRequest(NamedTuple):
    pod: str
    uid: str
    audience: str = ""
    seconds: int = DEFAULT_LIFETIME


class _Token(NamedTuple):
    text: str
    renewed: dt.datetime
    expires: dt.datetime


class _TokenResponse(msgspec.Struct):
    class Spec(msgspec.Struct, rename="camel"):
        expiration_seconds: int = DEFAULT_LIFETIME

    class Status(msgspec.Struct, rename="camel"):
        token: str = ""
        expiration_timestamp: dt.datetime = dt.datetime.max.replace(tzinfo=dt.UTC)

    spec: Spec
    status: Status


Key = tuple[str, str, TokenRequest]


class TokenCache:
    """on_due is called with a pod's uid when one of its tokens must be renewed."""

    def __init__(
        self, client: interfaces.Client, on_due: Callable[[str], None], clock: Callable[[], dt.datetime] = clock.now
    ) -> None:
        self._client, self._on_due, self._clock = client, on_due, clock
        self._tokens: dict[Key, _Token] = {}
        self._locks: dict[Key, asyncio.Lock] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}

    async def get(self, namespace: str, account: str, request: TokenRequest) -> str:
        """The cached token while it is fresh. A token that cannot be renewed is used until it expires."""
        key = (namespace, account, request)
        async with self._locks.setdefault(key, asyncio.Lock()):
            cached = self._tokens.get(key)
            if cached is not None and self._clock() < cached.renewed:
                return cached.text
            try:
                self._tokens[key] = await self._request(namespace, account, request)
                self._schedule_renewal(key, self._tokens[key].renewed - self._clock())
            except errors.ApiError:
                self._schedule_renewal(key, RETRY)
                if cached is None or self._clock() >= cached.expires:
                    raise
            return self._tokens[key].text

    def _schedule_renewal(self, key: Key, after: dt.timedelta) -> None:
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(max(after.total_seconds(), 0.0), self._on_due, key[2].uid)

    def renewal(self, uid: str) -> dt.datetime | None:
        """When the first token of the pod must be renewed."""
        return min((token.renewed for (_, _, request), token in self._tokens.items() if request.uid == uid), default=None)

    def forget(self, uid: str) -> None:
        for key in [key for key in self._tokens if key[2].uid == uid]:
            del self._tokens[key]
        for key in [key for key in self._locks if key[2].uid == uid]:
            del self._locks[key]
        for key in [key for key in self._timers if key[2].uid == uid]:
            self._timers.pop(key).cancel()

    async def _request(self, namespace: str, account: str, request: TokenRequest) -> _Token:
        bound = {"kind": "Pod", "apiVersion": "v1", "name": request.pod, "uid": request.uid}
        spec = {
            "expirationSeconds": request.seconds,
            "boundObjectRef": bound,
            "audiences": [request.audience] if request.audience else [],
        }
        body = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": spec}
        raw = await self._client.post(SERVICE_ACCOUNTS, namespace, account, "token", msgspec.json.encode(body))
        response = msgspec.json.decode(raw, type=_TokenResponse)
        lifetime, expires = dt.timedelta(seconds=response.spec.expiration_seconds), response.status.expiration_timestamp
        early = dt.timedelta(seconds=random.uniform(0, JITTER))  # spreads the requests of many pods
        renewed = min(expires - lifetime / 5, expires - lifetime + MAX_TOKEN_AGE) - early
        return _Token(response.status.token, renewed, expires)
