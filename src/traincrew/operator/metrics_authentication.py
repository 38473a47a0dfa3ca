"""Who may read the metrics: the API server reviews the bearer token and the access, as for controller-runtime's endpoints."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.model.meta import Struct
from traincrew.model.resources import Resource

log = logging.getLogger(__name__)

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
PATH = "/metrics"
CACHE_SECONDS, CACHED = 60.0, 256
"""How long a decision is used again, and for how many tokens."""


class _User(Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class _TokenStatus(Struct):
    authenticated: bool = False
    user: _User = _User()


class _TokenReview(Struct):
    status: _TokenStatus = _TokenStatus()


class _AccessStatus(Struct):
    allowed: bool = False


class _AccessReview(Struct):
    status: _AccessStatus = _AccessStatus()


class MetricsAuthentication:
    def __init__(self, client: interfaces.Writer) -> None:
        self._client = client
        self._decisions: dict[bytes, tuple[float, int]] = {}
        """By digest of the token: until when (loop time) the status code is used."""

    async def status(self, authorization: str) -> int:
        """The HTTP status for the value of an Authorization header: 200, 401, 403, or 503 if no review was possible."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return 401
        digest, now = hashlib.sha256(token.strip().encode()).digest(), asyncio.get_running_loop().time()
        until, code = self._decisions.get(digest, (0.0, 0))
        if until > now:
            return code
        try:
            code = await self._review(token.strip())
        except errors.ApiError as error:
            log.warning("metrics request not reviewed", extra={"error": error.message})
            return 503
        if len(self._decisions) >= CACHED:
            self._decisions.clear()
        self._decisions[digest] = (now + CACHE_SECONDS, code)
        return code

    async def _review(self, token: str) -> int:
        found = msgspec.json.decode(await self._create(TOKEN_REVIEWS, {"token": token}), type=_TokenReview).status
        if not found.authenticated:
            return 401
        user = found.user
        attributes = {"user": user.username, "uid": user.uid, "groups": user.groups or [], "extra": user.extra or {}}
        spec = {**attributes, "nonResourceAttributes": {"path": PATH, "verb": "get"}}
        allowed = msgspec.json.decode(await self._create(ACCESS_REVIEWS, spec), type=_AccessReview).status.allowed
        return 200 if allowed else 403

    async def _create(self, resource: Resource, spec: dict[str, Any]) -> bytes:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        return await self._client.create(resource, None, msgspec.json.encode(body))
