"""Users of a cluster, and a console at which they sign in."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import yaml
from tests.cluster.api import Api
from tests.console.console_fixture import Browser, page

from traincrew.client import kubeconfig
from traincrew.console import health, run, sessions, sign_in
from traincrew.console.settings import ConsoleTarget, ServerSettings
from traincrew.console.trusted_proxies import TrustedProxy
from traincrew.history.database_thread import DatabaseThread

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def rbac(kind: str, name: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **content}


def token_of(config: pathlib.Path, name: str, role: str = "", seconds: int = 3600) -> str:
    """The token of a new service account. role: a ClusterRole that it has in the namespace default."""
    api = Api(config)
    api.call("POST", ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    if role:
        subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
        body = rbac("RoleBinding", name, subjects=[subject], roleRef=reference)
        api.call("POST", f"{RBAC}/namespaces/default/rolebindings", body)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}}
    return str(api.call("POST", f"{ACCOUNTS}/{name}/token", request)["status"]["token"])


def kubeconfig_with(config: pathlib.Path, **user: Any) -> dict[str, Any]:
    """The kubeconfig of the machine with another user."""
    found: dict[str, Any] = yaml.safe_load(config.read_text())
    found["users"] = [{"name": found["users"][0]["name"], "user": user}]
    return found


class Visitor(Browser):
    """A browser at a console for several users."""

    async def post_session(self, headers: Mapping[str, str] | None = None, /, **body: str) -> tuple[int, Any]:
        async with self.http.post(f"{self.origin}/api/v1/session", json=body, headers=headers) as response:
            found = await response.json()
            if response.status == 200:
                self.csrf = found["csrfToken"]
            return response.status, found

    async def enter(self, **body: str) -> dict[str, Any]:
        status, found = await self.post_session(**body)
        assert status == 200, found
        return dict(found)


@contextlib.asynccontextmanager
async def console(
    config: pathlib.Path,
    directory: pathlib.Path,
    *,
    proxy: TrustedProxy | None = None,
    settings: ServerSettings = ServerSettings(),  # noqa: B008 - a frozen value
    limits: sessions.SessionLimits = sessions.SessionLimits(idle=1800, age=43200, per_user=10),  # noqa: B008 - a frozen value
    addresses: tuple[str, ...] = (),
    history: str = "",
) -> AsyncIterator[tuple[str, health.Health]]:
    """The address of a console that listens, and its health."""
    cluster = kubeconfig.load(os.fspath(config))
    recorded = DatabaseThread(history, writable=False) if history else None
    target = ConsoleTarget(server=cluster.server, namespace="", history=recorded)
    authenticator: sign_in.ConsoleAuthenticator
    if proxy is not None:
        authenticator = sign_in.ProxyAuthenticator(cluster, target, proxy)
    else:
        authenticator = sign_in.TokenAuthenticator(kubeconfig.without_credentials(cluster), target, addresses)
    listening = run.Listen().socket()
    origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
    async with run.UserServer(authenticator, settings, limits, history=recorded).running(listening, page(directory)) as state:
        yield origin, state


@contextlib.asynccontextmanager
async def visitor(origin: str) -> AsyncIterator[Visitor]:
    jar = aiohttp.CookieJar(unsafe=True)  # accepts cookies of 127.0.0.1, as browsers do
    async with aiohttp.ClientSession(cookie_jar=jar) as http:
        yield Visitor(http, f"{origin}/#token=")
