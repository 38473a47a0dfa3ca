"""What the user may do, as the API server says. It only hides buttons: the API server decides."""

from __future__ import annotations

import time

import msgspec

from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.model.resources import Resource

ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False)
SELF_REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
KEPT_SECONDS = 60.0


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
        attributes = {
            "verb": verb,
            "group": resource.group,
            "resource": resource.plural,
            "subresource": subresource,
            "namespace": namespace,
        }
        body = _body(ACCESS_REVIEWS, {"spec": {"resourceAttributes": attributes}})
        try:
            raw = await self._client.create(ACCESS_REVIEWS, None, body)
        except errors.ApiError:
            return True  # unknown: the API server decides when the user tries
        return msgspec.json.decode(raw, type=_Review).status.allowed


async def user_name(client: RemoteClient) -> str:
    """Empty: the API server does not say it."""
    try:
        raw = await client.create(SELF_REVIEWS, None, _body(SELF_REVIEWS, {}))
    except errors.ApiError:
        return ""
    status = msgspec.json.decode(raw).get("status") or {}
    return str((status.get("userInfo") or {}).get("username") or "")


def _body(resource: Resource, content: dict[str, object]) -> bytes:
    return msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}, **content})
