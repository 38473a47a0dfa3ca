"""An HTTPS server that serves only reviews and token requests, for `kubectl auth` and `kubectl create token`."""

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
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy
from traincrew.embedded.apiserver.http import impersonation, origins
from traincrew.embedded.pki import certificates

Object = dict[str, Any]


class ReviewServer:
    def __init__(self, authenticator: Authenticator, tokens: Tokens, policy: RBACPolicy) -> None:
        self.authenticator, self.tokens, self.policy = authenticator, tokens, policy
        self.allowed_origins = origins.AllowedOrigins(frozenset())

    async def handle(self, request: web.Request) -> web.Response:
        try:
            return web.json_response(self._respond(request, await request.read()), status=201)
        except api_errors.StatusError as error:
            return web.json_response(error.status(), status=error.code)

    def _respond(self, request: web.Request, body: bytes) -> Object:
        origins.check(self.allowed_origins, request.headers.get("Host"), request.headers.get("Origin"))
        peer = (
            authentication.client_certificate_peer(request.transport.get_extra_info("ssl_object")) if request.transport else None
        )
        user = self.authenticator.user(request.headers, peer, request.path)
        if user is None:
            raise api_errors.unauthorized()
        user = impersonation.impersonated(user, request.headers, self.policy, request.path)
        requested = attributes.of_request(request.method, request.path)
        allowed, reason = self.policy.allowed(user, requested)
        if not allowed:
            raise attributes.forbidden(user, requested, reason)
        if request.method != "POST":
            raise api_errors.path_not_found()
        return self._create(requested, user, json.loads(body))

    def _create(self, requested: attributes.Attributes, user: User, posted: Object) -> Object:
        now = datetime.datetime.now(datetime.UTC)
        match requested.combined:
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
                    self.tokens, posted, token_requests.TokenRequestScope(requested.namespace, requested.name, now)
                )
        raise api_errors.path_not_found()


@contextlib.asynccontextmanager
async def serve(server: ReviewServer, directory: pathlib.Path) -> AsyncIterator[tuple[str, certificates.Pki]]:
    """Yields the URL and the certificates of the running server."""
    pki = certificates.ensure(directory, certificates.names("127.0.0.1"))
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=pki.server_context())
        await site.start()
        port = runner.addresses[0][1]
        server.allowed_origins = origins.allowed_origins(pki.names, port)
        yield f"https://127.0.0.1:{port}", pki
    finally:
        await runner.cleanup()
