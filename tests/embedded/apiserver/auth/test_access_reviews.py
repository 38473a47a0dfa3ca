from __future__ import annotations

from typing import Any

import pytest
from tests.embedded.apiserver.auth.rbac_objects import binding, role, rule, user_subject

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import access_reviews
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy

ANN = User("ann", ("red",), "7", {"scopes": ("a", "b")})


@pytest.fixture
def policy() -> RBACPolicy:
    rbac = RBACPolicy()
    rbac.put(role("r", rule("get list", "pods"), rule("get", urls="/metrics"), rule("get", "secrets", names="s")))
    rbac.put(binding("b", "ClusterRole/r", user_subject("ann"), namespace="ns"))
    return rbac


def review_of_kind(kind: str, **spec: Any) -> dict[str, Any]:
    group = "authentication" if kind in ("TokenReview", "SelfSubjectReview") else "authorization"
    return {"apiVersion": f"{group}.k8s.io/v1", "kind": kind, "spec": spec}


def test_self_subject_access_review_reports_the_own_access(policy: RBACPolicy) -> None:
    attributes = {"verb": "get", "resource": "pods", "namespace": "ns"}
    response = access_reviews.self_subject_access(
        review_of_kind("SelfSubjectAccessReview", resourceAttributes=attributes), ANN, policy
    )
    reason = 'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "r" to User "ann"'
    assert response["status"] == {"allowed": True, "reason": reason}
    assert response["spec"] == {"resourceAttributes": attributes}
    assert response["metadata"] == {"creationTimestamp": None}


def test_subject_access_review_reports_the_access_of_another_user(policy: RBACPolicy) -> None:
    attributes = {"verb": "get", "resource": "secrets", "namespace": "ns", "name": "t"}
    response = access_reviews.subject_access(
        review_of_kind("SubjectAccessReview", user="ann", resourceAttributes=attributes), policy
    )
    assert response["status"] == {"allowed": False}


def test_a_local_review_stays_in_its_namespace(policy: RBACPolicy) -> None:
    attributes = {"verb": "get", "resource": "pods", "namespace": "ns"}
    review = review_of_kind("LocalSubjectAccessReview", user="ann", resourceAttributes=attributes)
    response = access_reviews.local_subject_access(review, "ns", policy)
    assert response["status"]["allowed"]
    assert response["metadata"]["namespace"] == "ns"
    with pytest.raises(api_errors.StatusError, match=r"must match metadata\.namespace"):
        access_reviews.local_subject_access(review, "other", policy)


def test_rules_are_listed_as_can_i_shows_them(policy: RBACPolicy) -> None:
    response = access_reviews.self_subject_rules(review_of_kind("SelfSubjectRulesReview", namespace="ns"), ANN, policy)
    assert response["status"] == {
        "resourceRules": [
            {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]},
            {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["s"]},
        ],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}],
        "incomplete": False,
    }
    with pytest.raises(api_errors.StatusError, match="no namespace on request"):
        access_reviews.self_subject_rules(review_of_kind("SelfSubjectRulesReview"), ANN, policy)


def test_self_subject_review_returns_the_complete_user() -> None:
    response = access_reviews.self_subject(review_of_kind("SelfSubjectReview"), ANN, "2026-01-01T00:00:00Z")
    user_info = {"username": "ann", "uid": "7", "groups": ["red"], "extra": {"scopes": ["a", "b"]}}
    assert response["status"] == {"userInfo": user_info}
    assert response["metadata"] == {"creationTimestamp": "2026-01-01T00:00:00Z"}
    assert "spec" not in response


def test_review_of_a_valid_token_returns_its_user() -> None:
    response = access_reviews.token(review_of_kind("TokenReview", token="t"), lambda token, audiences: (ANN, ("x",), ""))  # noqa: S106
    assert response["status"] == {"authenticated": True, "user": ANN.info(), "audiences": ["x"]}


def test_review_of_an_invalid_token_reports_the_error() -> None:
    response = access_reviews.token(review_of_kind("TokenReview", token="t"), lambda token, audiences: (None, (), "no"))  # noqa: S106
    assert response["status"] == {"user": {}, "error": "no"}
    with pytest.raises(api_errors.StatusError, match="token is required"):
        access_reviews.token(review_of_kind("TokenReview"), lambda token, audiences: (None, (), ""))


@pytest.mark.parametrize("metadata", [{"name": "x"}, {"labels": {"a": "b"}}])
def test_a_review_has_no_metadata(policy: RBACPolicy, metadata: dict[str, Any]) -> None:
    review = review_of_kind("SubjectAccessReview", user="a", resourceAttributes={}) | {"metadata": metadata}
    with pytest.raises(api_errors.StatusError, match="must be empty"):
        access_reviews.subject_access(review, policy)
