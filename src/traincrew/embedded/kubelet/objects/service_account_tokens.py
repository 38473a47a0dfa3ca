"""Tokens of service accounts, each for one pod; renewed when four fifths of their life are over, or a day."""

from __future__ import annotations

import asyncio
import datetime as dt
import random
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from traincrew import errors
from traincrew.client import clock, port
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


class _Answer(msgspec.Struct):
    class Spec(msgspec.Struct, rename="camel"):
        expiration_seconds: int = DEFAULT_LIFETIME

    class Status(msgspec.Struct, rename="camel"):
        token: str = ""
        expiration_timestamp: dt.datetime = dt.datetime.max.replace(tzinfo=dt.UTC)

    spec: Spec
    status: Status


Key = tuple[str, str, TokenRequest]


class TokenCache:
    """on_due is called with a pod's uid when one of its tokens is to be renewed."""

    def __init__(self, client: port.Client, on_due: Callable[[str], None], clock: Callable[[], dt.datetime] = clock.now) -> None:
        self._client, self._on_due, self._clock = client, on_due, clock
        self._tokens: dict[Key, _Token] = {}
        self._asking: dict[Key, asyncio.Lock] = {}
        self._alarms: dict[Key, asyncio.TimerHandle] = {}

    async def get(self, namespace: str, account: str, ask: TokenRequest) -> str:
        """The one that is held, while it is fresh; an old one that cannot be renewed is used until its end."""
        key = (namespace, account, ask)
        async with self._asking.setdefault(key, asyncio.Lock()):
            held = self._tokens.get(key)
            if held is not None and self._clock() < held.renewed:
                return held.text
            try:
                self._tokens[key] = await self._request(namespace, account, ask)
                self._remind(key, self._tokens[key].renewed - self._clock())
            except errors.ApiError:
                self._remind(key, RETRY)
                if held is None or self._clock() >= held.expires:
                    raise
            return self._tokens[key].text

    def _remind(self, key: Key, after: dt.timedelta) -> None:
        if (alarm := self._alarms.pop(key, None)) is not None:
            alarm.cancel()
        loop = asyncio.get_running_loop()
        self._alarms[key] = loop.call_later(max(after.total_seconds(), 0.0), self._on_due, key[2].uid)

    def renewal(self, uid: str) -> dt.datetime | None:
        """When the pod's volumes are to be looked at again for the sake of its tokens."""
        return min((token.renewed for (_, _, ask), token in self._tokens.items() if ask.uid == uid), default=None)

    def forget(self, uid: str) -> None:
        for key in [key for key in self._tokens if key[2].uid == uid]:
            del self._tokens[key]
        for key in [key for key in self._asking if key[2].uid == uid]:
            del self._asking[key]
        for key in [key for key in self._alarms if key[2].uid == uid]:
            self._alarms.pop(key).cancel()

    async def _request(self, namespace: str, account: str, ask: TokenRequest) -> _Token:
        bound = {"kind": "Pod", "apiVersion": "v1", "name": ask.pod, "uid": ask.uid}
        spec = {"expirationSeconds": ask.seconds, "boundObjectRef": bound, "audiences": [ask.audience] if ask.audience else []}
        body = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": spec}
        raw = await self._client.post(SERVICE_ACCOUNTS, namespace, account, "token", msgspec.json.encode(body))
        answer = msgspec.json.decode(raw, type=_Answer)
        life, expires = dt.timedelta(seconds=answer.spec.expiration_seconds), answer.status.expiration_timestamp
        early = dt.timedelta(seconds=random.uniform(0, JITTER))  # not all pods ask at once
        renewed = min(expires - life / 5, expires - life + MAX_TOKEN_AGE) - early
        return _Token(answer.status.token, renewed, expires)
