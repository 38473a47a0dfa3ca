"""Delegated authentication and authorization: TokenReview and SubjectAccessReview at the API server."""

from __future__ import annotations

import logging
import time
from typing import Any

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.model.resources import Resource

log = logging.getLogger(__name__)

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
CACHE_SECONDS = 30.0
"""Seconds for which a decision is cached: a metrics server sends a request every 15 seconds."""
MAX_CACHED = 256
_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def subresource(path: str) -> str:
    """The subresource of the Node, as RBAC names it."""
    first = path.strip("/").partition("/")[0]
    return {"metrics": "metrics", "stats": "stats", "logs": "log"}.get(first, "proxy")


class DelegatedAuth:
    """Implements `server.TokenReviewer`."""

    def __init__(self, client: interfaces.Client, node: str) -> None:
        self._client, self._node = client, node
        self._decisions: dict[tuple[str, str, str], tuple[float, bool | None]] = {}

    async def __call__(self, token: str, method: str, path: str) -> bool | None:
        """Whether the request is allowed; None: the token is not valid."""
        key = (token, _VERBS.get(method, "get"), subresource(path))
        now = time.monotonic()
        cached = self._decisions.get(key)
        if cached is not None and cached[0] > now:
            return cached[1]
        try:
            allowed = await self._authorize(*key)
        except errors.ApiError as error:
            log.warning("cannot review token", extra={"error": str(error)})
            return None
        if len(self._decisions) >= MAX_CACHED:
            self._decisions.clear()
        self._decisions[key] = now + CACHE_SECONDS, allowed
        return allowed

    async def _authorize(self, token: str, verb: str, part: str) -> bool | None:
        identity = await self._review(TOKEN_REVIEWS, {"token": token})
        if not identity.get("authenticated"):
            return None
        user = identity.get("user") or {}
        node = {"verb": verb, "version": "v1", "resource": "nodes", "subresource": part, "name": self._node}
        subject = {"user": user.get("username", ""), "groups": user.get("groups") or [], "uid": user.get("uid", "")}
        decision = await self._review(ACCESS_REVIEWS, {**subject, "extra": user.get("extra") or {}, "resourceAttributes": node})
        return bool(decision.get("allowed"))

    async def _review(self, resource: Resource, spec: dict[str, Any]) -> dict[str, Any]:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        review = msgspec.json.decode(await self._client.create(resource, None, msgspec.json.encode(body)))
        status: dict[str, Any] = review.get("status") or {}
        return status
