"""Requests that are answered, not stored: reviews of access and of tokens, and tokens themselves."""

from __future__ import annotations

from traincrew.embedded.apiserver.authn import token_requests
from traincrew.embedded.apiserver.authn.authentication import Authenticator
from traincrew.embedded.apiserver.authn.service_account_tokens import Tokens
from traincrew.embedded.apiserver.authz import access_reviews
from traincrew.embedded.apiserver.authz.rbac import Policy
from traincrew.embedded.apiserver.endpoints import request_bodies
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import Request, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded

GROUPS = ("authorization.k8s.io", "authentication.k8s.io")


class Reviewing:
    def __init__(self, cluster: RequestScope, policy: Policy, tokens: Tokens, authenticator: Authenticator) -> None:
        self._cluster, self._policy, self._tokens, self._authenticator = cluster, policy, tokens, authenticator

    def takes(self, call: Request) -> bool:
        return call.served.group in GROUPS

    def review(self, call: Request) -> Response:
        options = query_parameters.write_options(call.query, "CreateOptions", call.agent)
        review, warnings = request_bodies.decoded(call, options.validation)
        review = {"kind": call.served.kind, "apiVersion": call.served.api_version} | review
        match call.served.kind:
            case "SelfSubjectAccessReview":
                answer = access_reviews.self_subject_access(review, call.user, self._policy)
            case "SubjectAccessReview":
                answer = access_reviews.subject_access(review, self._policy)
            case "LocalSubjectAccessReview":
                answer = access_reviews.local_subject_access(review, call.namespace, self._policy)
            case "SelfSubjectRulesReview":
                answer = access_reviews.self_subject_rules(review, call.user, self._policy)
            case "SelfSubjectReview":
                answer = access_reviews.self_subject(review, call.user, self._cluster.now())
            case _:
                answer = access_reviews.token(review, self._authenticator.reviewed)
        return Response(201, encoded(answer), warnings)

    def token(self, call: Request) -> Response:
        options = query_parameters.write_options(call.query, "CreateOptions", call.agent)
        request, warnings = request_bodies.of_kind(call, "authentication.k8s.io", "v1", "TokenRequest", options.validation)
        asked = token_requests.Asked(call.namespace, call.name, self._cluster.clock())
        return Response(201, encoded(token_requests.answer(self._tokens, request, asked)), warnings)
