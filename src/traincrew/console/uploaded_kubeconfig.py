"""The credentials in a kubeconfig that a user signs in with. Pure.

Only the token and the client certificate of the current context are used. Whatever would make the console read a file, run a
program or connect to another server is refused. No error quotes a value that may be secret.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import urllib.parse
from collections.abc import Collection
from typing import Any

import yaml

from traincrew import errors
from traincrew.apimachinery import yaml_documents

MAX_BYTES = 256 * 1024
MAX_TOKEN = 32 * 1024
FLATTEN = "Paste the output of `kubectl config view --minify --flatten --raw`."
USE_TOKEN = "Sign in with a token instead, such as that of `kubectl create token NAME`."  # noqa: S105 - a sentence
_REFUSED_OF_USER = {
    "exec": f"runs a program (exec), and the console runs none. {USE_TOKEN}",
    "auth-provider": f"has an auth-provider, which kubectl does not support any more. {USE_TOKEN}",
    "tokenFile": f"names a file (tokenFile), and the console reads none. {USE_TOKEN}",
    "client-certificate": f"names a file (client-certificate), and the console reads none. {FLATTEN}",
    "client-key": f"names a file (client-key), and the console reads none. {FLATTEN}",
    "username": f"has a username and a password, which Kubernetes does not accept any more. {USE_TOKEN}",
    "password": f"has a username and a password, which Kubernetes does not accept any more. {USE_TOKEN}",
    "as": "impersonates another user (as). Remove it, or sign in as that user.",
    "as-uid": "impersonates another user (as-uid). Remove it, or sign in as that user.",
    "as-groups": "impersonates other groups (as-groups). Remove it, or sign in as that user.",
    "as-user-extra": "impersonates another user (as-user-extra). Remove it, or sign in as that user.",
}
_REFUSED_OF_CLUSTER = {
    "certificate-authority": f"names a file (certificate-authority), and the console reads none. {FLATTEN}",
    "proxy-url": "has a proxy (proxy-url), and the console connects to its own API server alone. Remove proxy-url.",
    "tls-server-name": "has a tls-server-name, and the console verifies its own API server alone. Remove tls-server-name.",
}


@dataclasses.dataclass(frozen=True)
class UserCredentials:
    token: str = dataclasses.field(default="", repr=False)
    certificate: bytes = dataclasses.field(default=b"", repr=False)
    key: bytes = dataclasses.field(default=b"", repr=False)
    namespace: str = ""
    """That of the context. Empty: it has none."""


def parse(text: str, servers: Collection[str]) -> UserCredentials:
    """servers: the addresses of the cluster of this console. Raise KubeconfigError with what is refused, and the remedy."""
    document = _document(text)
    name = _text(document, "current-context", "the kubeconfig")
    if not name:
        raise errors.KubeconfigError("the kubeconfig has no current-context. Set it with `kubectl config use-context NAME`.")
    context = _entry(document, "context", name)
    cluster_name, user_name = _text(context, "cluster", "the context"), _text(context, "user", "the context")
    cluster = _entry(document, "cluster", cluster_name)
    _refuse(cluster, _REFUSED_OF_CLUSTER, f"cluster {cluster_name[:100]!r} of the kubeconfig")
    _require_own_server(_text(cluster, "server", "the cluster"), servers)
    found = _credentials(_entry(document, "user", user_name), f"user {user_name[:100]!r} of the kubeconfig")
    return dataclasses.replace(found, namespace=_text(context, "namespace", "the context"))


def checked_token(token: str) -> str:
    """A bearer token without spaces around it. Raise KubeconfigError if it cannot be one."""
    found = token.strip().removeprefix("Bearer ").strip()
    if not found:
        raise errors.KubeconfigError("the token is empty")
    if len(found) > MAX_TOKEN or not found.isascii() or not found.isprintable() or " " in found:
        raise errors.KubeconfigError(f"this is no token: a token is one word of printable ASCII, at most {MAX_TOKEN} characters")
    return found


def _document(text: str) -> dict[str, Any]:
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise errors.KubeconfigError(f"the kubeconfig is larger than {MAX_BYTES // 1024} KiB. {FLATTEN}")
    if _has_alias(text):
        raise errors.KubeconfigError(f"the kubeconfig has YAML aliases (*name), which the console does not expand. {FLATTEN}")
    for found in yaml_documents.parse(text):
        if isinstance(found, yaml_documents.YAMLSyntaxError):  # its message may quote a secret
            raise errors.KubeconfigError(f"the kubeconfig is not valid YAML (line {found.line}, column {found.column})")
        if isinstance(found.value, dict):
            return found.value
        break
    raise errors.KubeconfigError(f"the text is not a kubeconfig. {FLATTEN}")


def _has_alias(text: str) -> bool:
    try:
        return any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError):
        return False  # the parser below says where


def _entry(document: dict[str, Any], what: str, name: str) -> dict[str, Any]:
    """The entry of `clusters`, `users` or `contexts` with this name; the first one, as with kubectl."""
    entries = document.get(f"{what}s")
    found = [each for each in entries if isinstance(each, dict) and each.get("name") == name] if isinstance(entries, list) else []
    value = found[0].get(what) if found else None
    if not isinstance(value, dict):
        raise errors.KubeconfigError(f"the kubeconfig has no {what} {name[:100]!r}, which its current context names")
    return value


def _text(mapping: dict[str, Any], name: str, what: str) -> str:
    value = mapping.get(name)
    if value is not None and not isinstance(value, str):
        raise errors.KubeconfigError(f"{name} of {what} is not a text")
    return value or ""


def _refuse(mapping: dict[str, Any], refused: dict[str, str], where: str) -> None:
    for name, reason in refused.items():
        if mapping.get(name):
            raise errors.KubeconfigError(f"{where} {reason}")


def _require_own_server(server: str, servers: Collection[str]) -> None:
    if normalized(server) not in {normalized(each) for each in servers}:
        raise errors.KubeconfigError(
            f"the kubeconfig is for the API server {server[:200]!r}, and this console connects to {', '.join(servers)} alone. "
            "Sign in with a token, or ask an administrator to name this address with --api-server-address, if it is the same "
            "cluster."
        )


def normalized(server: str) -> str:
    """The address of an API server, such as https://host:443. Empty: it is no address."""
    try:
        parts = urllib.parse.urlsplit(server.strip())
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or (443 if parts.scheme == 'https' else 80)}{parts.path.rstrip('/')}"


def _credentials(user: dict[str, Any], where: str) -> UserCredentials:
    _refuse(user, _REFUSED_OF_USER, where)
    token = _text(user, "token", where)
    certificate, key = _decoded(user, "client-certificate-data", where), _decoded(user, "client-key-data", where)
    if not token and not certificate and not key:
        raise errors.KubeconfigError(f"{where} has neither a token nor a client certificate. {USE_TOKEN}")
    if bool(certificate) != bool(key):
        lacking = "client-key-data" if certificate else "client-certificate-data"
        raise errors.KubeconfigError(f"{where} has no {lacking}: a client certificate and its key belong together. {FLATTEN}")
    return UserCredentials(token=checked_token(token) if token else "", certificate=certificate, key=key)


def _decoded(user: dict[str, Any], name: str, where: str) -> bytes:
    try:
        return base64.b64decode(_text(user, name, where), validate=True)
    except (binascii.Error, ValueError):
        raise errors.KubeconfigError(f"{name} of {where} is not base64") from None
