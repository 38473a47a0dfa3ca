"""A small HTTPS server with nothing behind its door but the reviews: enough for `kubectl auth` and `kubectl create token`."""

from __future__ import annotations

import contextlib
import datetime
import json
import pathlib
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn import authentication, token_requests
from traincrew.embedded.apiserver.authn.authentication import Authenticator
from traincrew.embedded.apiserver.authn.service_account_tokens import Tokens
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import access_reviews, attributes
from traincrew.embedded.apiserver.authz.rbac import Policy
from traincrew.embedded.apiserver.http import impersonation, origins
from traincrew.embedded.pki import certificates

Object = dict[str, Any]


class Gate:
    def __init__(self, authenticator: Authenticator, tokens: Tokens, policy: Policy) -> None:
        self.authenticator, self.tokens, self.policy = authenticator, tokens, policy
        self.doors = origins.AllowedOrigins(frozenset())

    async def handle(self, request: web.Request) -> web.Response:
        try:
            return web.json_response(self._answer(request, await request.read()), status=201)
        except api_errors.StatusError as refused:
            return web.json_response(refused.status(), status=refused.code)

    def _answer(self, request: web.Request, body: bytes) -> Object:
        origins.check(self.doors, request.headers.get("Host"), request.headers.get("Origin"))
        peer = (
            authentication.client_certificate_peer(request.transport.get_extra_info("ssl_object")) if request.transport else None
        )
        user = self.authenticator.user(request.headers, peer, request.path)
        if user is None:
            raise api_errors.unauthorized()
        user = impersonation.impersonated(user, request.headers, self.policy, request.path)
        asked = attributes.of_request(request.method, request.path)
        allowed, reason = self.policy.allowed(user, asked)
        if not allowed:
            raise attributes.forbidden(user, asked, reason)
        if request.method != "POST":
            raise api_errors.path_not_found()
        return self._created(asked, user, json.loads(body))

    def _created(self, asked: attributes.Attributes, user: User, posted: Object) -> Object:
        now = datetime.datetime.now(datetime.UTC)
        match asked.combined:
            case "selfsubjectaccessreviews":
                return access_reviews.self_subject_access(posted, user, self.policy)
            case "selfsubjectrulesreviews":
                return access_reviews.self_subject_rules(posted, user, self.policy)
            case "selfsubjectreviews":
                return access_reviews.self_subject(posted, user, now.strftime("%Y-%m-%dT%H:%M:%SZ"))
            case "tokenreviews":
                return access_reviews.token(posted, self.authenticator.reviewed)
            case "serviceaccounts/token":
                return token_requests.issue(
                    self.tokens, posted, token_requests.TokenRequestScope(asked.namespace, asked.name, now)
                )
        raise api_errors.path_not_found()


@contextlib.asynccontextmanager
async def opened(gate: Gate, directory: pathlib.Path) -> AsyncIterator[tuple[str, certificates.Pki]]:
    """Its address and its certificates, as long as it stands open."""
    pki = certificates.ensure(directory, certificates.names("127.0.0.1"))
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", gate.handle)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=pki.server_context())
        await site.start()
        port = runner.addresses[0][1]
        gate.doors = origins.allowed_origins(pki.names, port)
        yield f"https://127.0.0.1:{port}", pki
    finally:
        await runner.cleanup()
