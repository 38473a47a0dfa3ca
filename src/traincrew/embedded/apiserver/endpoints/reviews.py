"""Access reviews, token reviews and token requests. They get a response and are not stored."""

from __future__ import annotations

from traincrew.embedded.apiserver.authn import token_requests
from traincrew.embedded.apiserver.authn.authentication import Authenticator
from traincrew.embedded.apiserver.authn.service_account_tokens import Tokens
from traincrew.embedded.apiserver.authz import access_reviews
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy
from traincrew.embedded.apiserver.endpoints import request_bodies
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded

GROUPS = ("authorization.k8s.io", "authentication.k8s.io")


class ReviewHandler:
    def __init__(self, scope: RequestScope, policy: RBACPolicy, tokens: Tokens, authenticator: Authenticator) -> None:
        self._scope, self._policy, self._tokens, self._authenticator = scope, policy, tokens, authenticator

    def handles(self, request: ApiRequest) -> bool:
        return request.info.group in GROUPS

    def review(self, request: ApiRequest) -> Response:
        options = query_parameters.write_options(request.query, "CreateOptions", request.agent)
        review, warnings = request_bodies.decoded(request, options.validation)
        review = {"kind": request.info.kind, "apiVersion": request.info.api_version} | review
        match request.info.kind:
            case "SelfSubjectAccessReview":
                response = access_reviews.self_subject_access(review, request.user, self._policy)
            case "SubjectAccessReview":
                response = access_reviews.subject_access(review, self._policy)
            case "LocalSubjectAccessReview":
                response = access_reviews.local_subject_access(review, request.namespace, self._policy)
            case "SelfSubjectRulesReview":
                response = access_reviews.self_subject_rules(review, request.user, self._policy)
            case "SelfSubjectReview":
                response = access_reviews.self_subject(review, request.user, self._scope.now())
            case _:
                response = access_reviews.token(review, self._authenticator.reviewed)
        return Response(201, encoded(response), warnings)

    def token(self, request: ApiRequest) -> Response:
        options = query_parameters.write_options(request.query, "CreateOptions", request.agent)
        token_request, warnings = request_bodies.of_kind(
            request, "authentication.k8s.io", "v1", "TokenRequest", options.validation
        )
        scope = token_requests.TokenRequestScope(request.namespace, request.name, self._scope.clock())
        return Response(201, encoded(token_requests.issue(self._tokens, token_request, scope)), warnings)
