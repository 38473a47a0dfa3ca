"""Users: name, groups, uid, extra."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = "system:anonymous"
ADMIN = "kubernetes-admin"
SERVICE_ACCOUNTS = "system:serviceaccounts"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"
NODE_NAME = "authentication.kubernetes.io/node-name"
NODE_UID = "authentication.kubernetes.io/node-uid"

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")


@dataclasses.dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict, hash=False)

    @property
    def is_master(self) -> bool:
        return MASTERS in self.groups

    def info(self) -> dict[str, Any]:
        """The UserInfo of authentication.k8s.io."""
        user_info: dict[str, Any] = {"username": self.name}
        if self.uid:
            user_info["uid"] = self.uid
        if self.groups:
            user_info["groups"] = list(self.groups)
        if self.extra:
            user_info["extra"] = {key: list(self.extra[key]) for key in sorted(self.extra)}
        return user_info


def anonymous() -> User:
    return User(ANONYMOUS, (UNAUTHENTICATED,))


def administrator(credential: str = "") -> User:
    """The holder of the kubeconfig's token. The credential id identifies the token."""
    return User(ADMIN, (MASTERS, AUTHENTICATED), extra={CREDENTIAL_ID: (credential,)} if credential else {})


def service_account_name(namespace: str, name: str) -> str:
    return f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, str]:
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"


def service_account(namespace: str, name: str, uid: str = "", extra: Mapping[str, tuple[str, ...]] | None = None) -> User:
    groups = (*service_account_groups(namespace), AUTHENTICATED)
    return User(service_account_name(namespace, name), groups, uid, extra or {})


def split_service_account(username: str) -> tuple[str, str] | None:
    """Namespace and name, if the user is a service account."""
    if not username.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, separator, name = username[len(SERVICE_ACCOUNT_PREFIX) :].partition(":")
    if not separator or not _LABEL.match(namespace) or len(name) > 253 or not _SUBDOMAIN.match(name):
        return None
    return namespace, name
