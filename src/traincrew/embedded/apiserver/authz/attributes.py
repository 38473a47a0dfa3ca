"""Attributes of a request for authorization, and the message of a 403."""

from __future__ import annotations

import dataclasses
import re

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn.users import User


@dataclasses.dataclass(frozen=True, slots=True)
class Attributes:
    """A resource request, or a non-resource request if `path` is set."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def combined(self) -> str:
        """The resource as rules name it: `pods/exec`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def non_resource(verb: str, path: str) -> Attributes:
    return Attributes(verb=verb, path=path or "/")


_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VERBS_IN_PATHS = ("watch", "proxy")
_NAMESPACE_SUBRESOURCES = ("status", "finalize")
_NAME_TERM = re.compile(r"metadata\.name\s*==?\s*([^,=!/%\s]+)\s*(?:,|\Z)")


def of_request(method: str, path: str, watch: bool = False, field_selector: str = "") -> Attributes:
    """The attributes of a request line; `watch` comes from the query."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, rest = parts[1], parts[3:]
    else:
        return non_resource(method.lower(), path)
    verb = _VERBS.get(method, "")
    if rest[0] in _VERBS_IN_PATHS and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    attributes = _resource(verb, group, rest)
    if attributes.name or verb not in ("get", "delete"):
        return attributes
    if verb == "delete":
        return dataclasses.replace(attributes, verb="deletecollection")
    return dataclasses.replace(attributes, verb="watch" if watch else "list", name=selected(field_selector))


def selected(field_selector: str) -> str:
    """The name of the one object that the field selector of a list or watch selects, if any."""
    named = _NAME_TERM.search(field_selector)
    return named.group(1) if named else ""


def _resource(verb: str, group: str, rest: list[str]) -> Attributes:
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    resource, name, subresource = (*rest[:3], "", "")[:3]
    return Attributes(verb, group, resource, "" if verb == "proxy" else subresource, namespace, name)


def forbidden(user: User, requested: Attributes, reason: str = "") -> api_errors.StatusError:
    """A 403 with the message of kube-apiserver."""
    message = _sanitized(_message(user, requested)) + (f": {reason}" if reason else "")
    if requested.path:
        return api_errors.router_error(403, "Forbidden", f"forbidden: {message}")
    return api_errors.forbidden(api_errors.StatusDetails(requested.resource, requested.group, requested.name), message)


def _message(user: User, requested: Attributes) -> str:
    if requested.path:
        return f'User "{user.name}" cannot {requested.verb} path "{requested.path}"'
    where = f'in the namespace "{requested.namespace}"' if requested.namespace else "at the cluster scope"
    return f'User "{user.name}" cannot {requested.verb} resource "{requested.combined}" in API group "{requested.group}" {where}'


def _sanitized(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
