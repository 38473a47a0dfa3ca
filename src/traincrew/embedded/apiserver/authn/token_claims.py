"""The claims of service account tokens, and the objects that must exist for a token to be valid."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.authn.users import User

ISSUER = "https://kubernetes.default.svc"
LEGACY_ISSUER = "kubernetes/serviceaccount"
"""The issuer of tokens in Secrets, which never expire."""
AUDIENCES = (ISSUER,)
_LEGACY = "kubernetes.io/serviceaccount/"
_FOREVER = float("inf")


@dataclasses.dataclass(frozen=True)
class Bound:
    """The objects that a token is bound to, besides its account."""

    pod: Object | None = None
    secret: Object | None = None
    node: Object | None = None
    """With a pod: additional information. Without: the object that the token is bound to."""


@dataclasses.dataclass(frozen=True)
class Validity:
    """The validity of a token in seconds, and after how many seconds its use is reported as stale."""

    begins: int
    expires: int
    warns: int = 0


class BoundObject(NamedTuple):
    """An object that a token is bound to."""

    plural: str
    namespace: str
    name: str
    uid: str


@dataclasses.dataclass(frozen=True, slots=True)
class Verified:
    """A token with a valid signature."""

    user: User
    audiences: tuple[str, ...]
    begins: float
    ends: float
    bound_objects: tuple[BoundObject, ...]
    """The objects that must still exist."""
    secret: tuple[str, str] | None = None
    """Namespace and name of the Secret that must hold this token."""


def build(account: Object, life: Validity, audiences: Sequence[str], bound: Bound, token_id: str) -> dict[str, Any]:
    namespace, name = account["metadata"]["namespace"], account["metadata"]["name"]
    objects = {"node": bound.node, "pod": bound.pod, "secret": bound.secret}
    about: dict[str, Any] = {"namespace": namespace, "serviceaccount": _named(account)}
    about |= {kind: _named(each) for kind, each in objects.items() if each is not None}
    if life.warns:
        about["warnafter"] = life.begins + life.warns
    return {
        "aud": list(audiences),
        "exp": life.begins + life.expires,
        "iat": life.begins,
        "iss": ISSUER,
        "jti": token_id,
        "kubernetes.io": about,
        "nbf": life.begins,
        "sub": users.service_account_name(namespace, name),
    }


def legacy(account: Object, secret: Object) -> dict[str, Any]:
    metadata = account["metadata"]
    return {
        "iss": LEGACY_ISSUER,
        f"{_LEGACY}namespace": metadata["namespace"],
        f"{_LEGACY}secret.name": secret["metadata"]["name"],
        f"{_LEGACY}service-account.name": metadata["name"],
        f"{_LEGACY}service-account.uid": metadata["uid"],
        "sub": users.service_account_name(metadata["namespace"], metadata["name"]),
    }


def read(claims: Mapping[str, Any]) -> Verified:
    return _read_legacy(claims) if claims["iss"] == LEGACY_ISSUER else _read(claims)


def _read(claims: Mapping[str, Any]) -> Verified:
    about = claims["kubernetes.io"]
    namespace, account = about["namespace"], about["serviceaccount"]
    pod, secret, node = about.get("pod"), about.get("secret"), about.get("node")
    objects = [BoundObject("serviceaccounts", namespace, account["name"], account["uid"])]
    extra: dict[str, tuple[str, ...]] = {users.CREDENTIAL_ID: (f"JTI={claims['jti']}",)}
    if secret:
        objects.append(BoundObject("secrets", namespace, secret["name"], secret["uid"]))
    if pod:
        objects.append(BoundObject("pods", namespace, pod["name"], pod["uid"]))
        extra |= {users.POD_NAME: (pod["name"],), users.POD_UID: (pod["uid"],)}
    elif node:
        objects.append(BoundObject("nodes", "", node["name"], node["uid"]))
    if node:
        extra[users.NODE_NAME] = (node["name"],)
        extra |= {users.NODE_UID: (node["uid"],)} if "uid" in node else {}
    user = users.service_account(namespace, account["name"], account["uid"], extra)
    return Verified(user, tuple(claims["aud"]), claims["nbf"], claims["exp"], tuple(objects))


def _read_legacy(claims: Mapping[str, Any]) -> Verified:
    namespace, name = claims[f"{_LEGACY}namespace"], claims[f"{_LEGACY}service-account.name"]
    uid, secret = claims[f"{_LEGACY}service-account.uid"], claims[f"{_LEGACY}secret.name"]
    objects = (BoundObject("serviceaccounts", namespace, name, uid),)
    return Verified(users.service_account(namespace, name, uid), AUDIENCES, 0, _FOREVER, objects, (namespace, secret))


def _named(document: Object) -> dict[str, str]:
    metadata = document["metadata"]
    return {key: metadata[key] for key in ("name", "uid") if metadata.get(key)}
