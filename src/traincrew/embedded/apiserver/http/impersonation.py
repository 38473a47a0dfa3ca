"""Impersonation (`kubectl --as`), for users who are allowed to impersonate."""

from __future__ import annotations

import urllib.parse
from typing import NamedTuple

from multidict import MultiMapping

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import attributes
from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy

USER, GROUP, UID, EXTRA = "Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-"
AUTHENTICATION = "authentication.k8s.io"


class _Request(NamedTuple):
    """One attribute to impersonate, and the authorization that it needs."""

    kind: str
    attributes: Attributes

    def words(self) -> str:
        """As Go prints an ObjectReference."""
        version = f"{AUTHENTICATION}/v1" if self.attributes.group else ""
        return f"{{{self.kind} {self.attributes.namespace} {self.attributes.name}  {version}  {self.attributes.subresource}}}"


def impersonated(user: User, headers: MultiMapping[str], policy: RBACPolicy, target: str) -> User:
    """The user that the request acts as: the authenticated user, or the one that its headers name.

    Raises StatusError if that is not allowed, PlainTextError for headers without a user.
    """
    if not any(name[:12].lower() == "impersonate-" for name in headers):
        return user
    requests = _requests(headers)
    if not requests:
        return user
    if requests[0].kind not in ("User", "ServiceAccount"):
        message = " ".join(each.words() for each in requests)
        why = f'Bad Request: "{target}": requested [{message}] without impersonating a user'
        raise api_errors.PlainTextError(400, f"{why}\n")
    for each in requests:
        allowed, reason = policy.allowed(user, each.attributes)
        if not allowed:
            raise attributes.forbidden(user, each.attributes, reason)
    return _impersonated(headers, requests)


def _requests(headers: MultiMapping[str]) -> list[_Request]:
    requests = []
    if name := headers.get(USER, ""):
        account = users.split_service_account(name)
        if account:
            requests.append(_Request("ServiceAccount", _impersonate("serviceaccounts", account[1], namespace=account[0])))
        else:
            requests.append(_Request("User", _impersonate("users", name)))
    requests += [_Request("Group", _impersonate("groups", group)) for group in headers.getall(GROUP, [])]
    for key, values in _extra(headers).items():
        requests += [
            _Request("UserExtra", Attributes("impersonate", AUTHENTICATION, "userextras", key, "", each)) for each in values
        ]
    if uid := headers.get(UID, ""):
        requests.append(_Request("UID", Attributes("impersonate", AUTHENTICATION, "uids", name=uid)))
    return requests


def _impersonate(resource: str, name: str, namespace: str = "") -> Attributes:
    return Attributes("impersonate", "", resource, namespace=namespace, name=name)


def _extra(headers: MultiMapping[str]) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys(name.lower() for name in headers):
        if name.startswith(EXTRA.lower()):
            extra[urllib.parse.unquote(name[len(EXTRA) :])] = tuple(headers.getall(name))
    return extra


def _impersonated(headers: MultiMapping[str], requests: list[_Request]) -> User:
    name = headers[USER]
    groups = list(headers.getall(GROUP, []))
    if requests[0].kind == "ServiceAccount" and not groups:
        groups += users.service_account_groups(requests[0].attributes.namespace)
    if name == users.ANONYMOUS:
        groups += [] if users.UNAUTHENTICATED in groups else [users.UNAUTHENTICATED]
    elif users.AUTHENTICATED not in groups and users.UNAUTHENTICATED not in groups:
        groups.append(users.AUTHENTICATED)
    return User(name, tuple(groups), headers.get(UID, ""), _extra(headers))
