"""What the user may do, as the API server says. It only hides buttons: the API server decides."""

from __future__ import annotations

import time
from typing import NamedTuple

import msgspec

from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.model.resources import Resource

ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False)
SELF_REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
KEPT_SECONDS = 60.0


class UserInfo(NamedTuple):
    """Who the user is, as the API server says."""

    name: str = ""
    groups: tuple[str, ...] = ()

    @property
    def is_anonymous(self) -> bool:
        return self.name == "system:anonymous" or "system:unauthenticated" in self.groups

    @property
    def namespace(self) -> str:
        """That of a service account. Empty: the user is none."""
        parts = self.name.split(":")
        return parts[2] if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4 else ""


class _Status(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


class AccessReviews:
    """Asks once a minute for each right."""

    def __init__(self, client: RemoteClient) -> None:
        self._client = client
        self._known: dict[tuple[str, Resource, str, str], tuple[float, bool]] = {}

    async def allowed(self, verb: str, resource: Resource, namespace: str, subresource: str = "") -> bool:
        key, now = (verb, resource, namespace, subresource), time.monotonic()
        if key not in self._known or now - self._known[key][0] > KEPT_SECONDS:
            self._known[key] = (now, await self._ask(*key))
        return self._known[key][1]

    async def _ask(self, verb: str, resource: Resource, namespace: str, subresource: str) -> bool:
        try:
            return await review(self._client, verb, resource, namespace, subresource)
        except errors.ApiError:
            return True  # unknown: the API server decides when the user tries


async def review(client: RemoteClient, verb: str, resource: Resource, namespace: str, subresource: str = "") -> bool:
    """Whether the user may, as the API server says now. Raise ApiError if it does not say it."""
    attributes = {
        "verb": verb,
        "group": resource.group,
        "resource": resource.plural,
        "subresource": subresource,
        "namespace": namespace,
    }
    raw = await client.create(ACCESS_REVIEWS, None, _body(ACCESS_REVIEWS, {"spec": {"resourceAttributes": attributes}}))
    return msgspec.json.decode(raw, type=_Review).status.allowed


async def user_name(client: RemoteClient) -> str:
    """Empty: the API server does not say it."""
    try:
        return (await user_info(client)).name
    except errors.ApiError:
        return ""


async def user_info(client: RemoteClient) -> UserInfo:
    """Raise Unauthorized if the API server rejects the credentials."""
    try:
        raw = await client.create(SELF_REVIEWS, None, _body(SELF_REVIEWS, {}))
    except errors.NotFound:  # before Kubernetes 1.28
        await client.fetch("/version")
        return UserInfo()
    found = (msgspec.json.decode(raw).get("status") or {}).get("userInfo") or {}
    return UserInfo(str(found.get("username") or ""), tuple(map(str, found.get("groups") or ())))


def _body(resource: Resource, content: dict[str, object]) -> bytes:
    return msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}, **content})
