"""How users sign in: with a link on one machine; with credentials of their own, or through a proxy, in a cluster."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Protocol

from aiohttp import web

from traincrew import errors
from traincrew.client import credentials
from traincrew.client.connection import ServerConnection
from traincrew.console import trusted_proxies, uploaded_kubeconfig
from traincrew.console.access import UserInfo
from traincrew.console.contract.requests import SignIn, SignInMethod
from traincrew.console.handlers import HandlerContext
from traincrew.console.links import Links
from traincrew.console.sessions import SignedIn
from traincrew.console.settings import ConsoleTarget
from traincrew.console.sign_in_attempts import SignInAttempts
from traincrew.console.trusted_proxies import TrustedProxy
from traincrew.console.uploaded_kubeconfig import UserCredentials
from traincrew.console.user_consoles import UserConsole
from traincrew.console.view import problems


class ConsoleAuthenticator(Protocol):
    methods: Sequence[SignInMethod]
    next_step: str
    """How to sign in, for errors."""

    async def sign_in(self, request: web.Request, wanted: SignIn) -> SignedIn:
        """Raise Problem if the user is not signed in."""
        ...

    def objection(self, request: web.Request, user: UserInfo) -> str:
        """Why a request does not belong to a session of this user; empty if it may."""
        ...


class LinkAuthenticator:
    """Whoever opens a link of `traincrew console` acts with the credentials of the console."""

    methods: Sequence[SignInMethod] = ("link",)
    next_step = "Run `traincrew console` and open the link that it prints."

    def __init__(self, console: HandlerContext, links: Links) -> None:
        self._console, self._links = console, links

    async def sign_in(self, request: web.Request, wanted: SignIn) -> SignedIn:
        if not self._links.spend(wanted.token):
            message = "the link is not valid, or it was used already: each link is valid once"
            raise problems.problem("SignInRequired", 401, "sign in", message, self.next_step)
        return SignedIn(self._console, "link")

    def objection(self, request: web.Request, user: UserInfo) -> str:
        return ""


class TokenAuthenticator:
    """A bearer token or a client certificate of the user. The API server says whose it is."""

    methods: Sequence[SignInMethod] = ("token", "kubeconfig")
    next_step = "Sign in again."

    def __init__(self, server: ServerConnection, target: ConsoleTarget, addresses: Sequence[str] = ()) -> None:
        """server: without credentials. addresses: others of the same API server, which kubeconfigs may name."""
        self._server, self._target = server, target
        self._addresses = (server.server, *addresses)
        self._attempts = SignInAttempts()

    async def sign_in(self, request: web.Request, wanted: SignIn) -> SignedIn:
        method: SignInMethod = "kubeconfig" if wanted.kubeconfig else "token"
        async with self._attempts.attempt(request.remote or ""):
            try:
                given = await asyncio.to_thread(self._credentials, wanted)
                target = dataclasses.replace(
                    self._target, namespace=wanted.namespace or given.namespace or self._target.namespace
                )
                return await UserConsole(self._connection(given), target).sign_in(method)
            except errors.Unauthorized:
                raise problems.problem(
                    "Unauthorized",
                    401,
                    "sign in",
                    f"the API server does not accept this {method}: it is wrong, has expired, or belongs to another cluster",
                    "Get another one, such as with `kubectl create token NAME`, and try again.",
                ) from None
            except errors.TraincrewError as error:
                raise problems.Problem(problems.of(error, "sign in")) from None

    def _credentials(self, wanted: SignIn) -> UserCredentials:
        if wanted.kubeconfig and wanted.token:
            raise errors.SettingsError("send a token or a kubeconfig, not both")
        if wanted.kubeconfig:
            return uploaded_kubeconfig.parse(wanted.kubeconfig, self._addresses)
        return UserCredentials(token=uploaded_kubeconfig.checked_token(wanted.token))

    def _connection(self, given: UserCredentials) -> ServerConnection:
        material = credentials.Material
        identity = credentials.ClientIdentity(
            authority=credentials.authority(self._server.identity),
            certificate=material("the client certificate", data=given.certificate) if given.certificate else None,
            key=material("the client key", data=given.key) if given.key else None,
            token=material("the token", data=given.token.encode()) if given.token else None,
        )
        return dataclasses.replace(self._server, identity=identity, where="the credentials of the sign-in", impersonation=())

    def objection(self, request: web.Request, user: UserInfo) -> str:
        return ""


class ProxyAuthenticator:
    """A header of an authenticating proxy names the user; the console impersonates that user with its own service account."""

    methods: Sequence[SignInMethod] = ("proxy",)
    next_step = "Open the console through its proxy, and sign in there."

    def __init__(self, server: ServerConnection, target: ConsoleTarget, proxy: TrustedProxy) -> None:
        """server: with the credentials of the console, which may impersonate users."""
        self._server, self._target, self._proxy = server, target, proxy

    async def sign_in(self, request: web.Request, wanted: SignIn) -> SignedIn:
        if wanted.token or wanted.kubeconfig:
            raise errors.SettingsError("this console takes no credentials: its proxy says who the user is")
        found = trusted_proxies.identify(self._proxy, request.headers, request.remote or "")
        if isinstance(found, trusted_proxies.Untrusted):
            raise problems.problem("SignInRequired", 401, "sign in", found.reason, self.next_step)
        connection = dataclasses.replace(self._server, impersonation=found.impersonation)
        target = dataclasses.replace(self._target, namespace=wanted.namespace or self._target.namespace)
        signed_in = await UserConsole(connection, target).sign_in("proxy")
        # The groups of the review have more, such as system:authenticated.
        return dataclasses.replace(signed_in, user=UserInfo(found.name, found.groups))

    def objection(self, request: web.Request, user: UserInfo) -> str:
        """The proxy names the user with every request: another one has signed in at the proxy meanwhile."""
        found = trusted_proxies.identify(self._proxy, request.headers, request.remote or "")
        if isinstance(found, trusted_proxies.Untrusted):
            return found.reason
        return "" if UserInfo(*found) == user else f"the session is that of {user.name}, and the proxy names {found.name}"
