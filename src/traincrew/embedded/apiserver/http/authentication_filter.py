"""The authentication filter: Host and Origin, credentials, impersonation; and authorization of non-resource URLs."""

from __future__ import annotations

import weakref

from aiohttp import web

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn.authentication import OPEN_PATHS, Authenticator, HttpPeer, client_certificate_peer
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import attributes
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy
from traincrew.embedded.apiserver.endpoints.routing import PROXY
from traincrew.embedded.apiserver.http import impersonation, origins
from traincrew.embedded.apiserver.requests import request_info
from traincrew.serving.repeated_headers import repeated_header


class AuthenticationFilter:
    def __init__(self, allowed: origins.AllowedOrigins, authenticator: Authenticator, policy: RBACPolicy) -> None:
        self.allowed_origins, self._authenticator, self._policy = allowed, authenticator, policy
        self._peers: weakref.WeakKeyDictionary[object, HttpPeer | None] = weakref.WeakKeyDictionary()

    def authenticate(self, http_request: web.BaseRequest) -> User:
        """Raises 400 for a repeated header, 403 for a foreign Host or Origin, 401 without valid credentials."""
        headers = http_request.headers
        if name := repeated_header(headers):
            raise api_errors.bad_request(f"the request has more than one {name} header")
        origins.check(self.allowed_origins, headers.get("Host"), headers.get("Origin"), is_proxied=_is_proxied(http_request))
        user = self._authenticator.user(headers, self._peer(http_request), http_request.path)
        if user is None:
            raise api_errors.unauthorized()
        return impersonation.impersonated(user, headers, self._policy, http_request.path)

    def _peer(self, http_request: web.BaseRequest) -> HttpPeer | None:
        connection = http_request.transport.get_extra_info("ssl_object") if http_request.transport else None
        if connection is None:
            return None
        if connection not in self._peers:
            self._peers[connection] = client_certificate_peer(connection)
        return self._peers[connection]

    def authorize_path(self, user: User, http_request: web.BaseRequest) -> None:
        if http_request.path in OPEN_PATHS:
            return
        requested = attributes.non_resource(http_request.method.lower(), http_request.path)
        allowed, reason = self._policy.allowed(user, requested)
        if not allowed:
            raise attributes.forbidden(user, requested, reason)


def _is_proxied(http_request: web.BaseRequest) -> bool:
    """Whether the request goes to a server in a pod."""
    if "Origin" not in http_request.headers:
        return False
    target = request_info.parse(http_request.path)
    return target is not None and target.subresource == PROXY
