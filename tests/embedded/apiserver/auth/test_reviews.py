from __future__ import annotations

from typing import Any

import pytest
from tests.embedded.apiserver.auth.documents import binding, person, role, rule

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import access_reviews
from traincrew.embedded.apiserver.authz.rbac import Policy

ANN = User("ann", ("red",), "7", {"scopes": ("a", "b")})


@pytest.fixture
def policy() -> Policy:
    found = Policy()
    found.put(role("r", rule("get list", "pods"), rule("get", urls="/metrics"), rule("get", "secrets", names="s")))
    found.put(binding("b", "ClusterRole/r", person("ann"), namespace="ns"))
    return found


def posted(kind: str, **spec: Any) -> dict[str, Any]:
    group = "authentication" if kind in ("TokenReview", "SelfSubjectReview") else "authorization"
    return {"apiVersion": f"{group}.k8s.io/v1", "kind": kind, "spec": spec}


def test_ones_own_access_is_told(policy: Policy) -> None:
    asked = {"verb": "get", "resource": "pods", "namespace": "ns"}
    answer = access_reviews.self_subject_access(posted("SelfSubjectAccessReview", resourceAttributes=asked), ANN, policy)
    reason = 'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "r" to User "ann"'
    assert answer["status"] == {"allowed": True, "reason": reason}
    assert answer["spec"] == {"resourceAttributes": asked}
    assert answer["metadata"] == {"creationTimestamp": None}


def test_anothers_access_is_told(policy: Policy) -> None:
    asked = {"verb": "get", "resource": "secrets", "namespace": "ns", "name": "t"}
    answer = access_reviews.subject_access(posted("SubjectAccessReview", user="ann", resourceAttributes=asked), policy)
    assert answer["status"] == {"allowed": False}


def test_a_local_review_stays_in_its_namespace(policy: Policy) -> None:
    asked = {"verb": "get", "resource": "pods", "namespace": "ns"}
    review = posted("LocalSubjectAccessReview", user="ann", resourceAttributes=asked)
    answer = access_reviews.local_subject_access(review, "ns", policy)
    assert answer["status"]["allowed"]
    assert answer["metadata"]["namespace"] == "ns"
    with pytest.raises(api_errors.StatusError, match=r"must match metadata\.namespace"):
        access_reviews.local_subject_access(review, "other", policy)


def test_rules_are_listed_as_can_i_shows_them(policy: Policy) -> None:
    answer = access_reviews.self_subject_rules(posted("SelfSubjectRulesReview", namespace="ns"), ANN, policy)
    assert answer["status"] == {
        "resourceRules": [
            {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]},
            {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["s"]},
        ],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}],
        "incomplete": False,
    }
    with pytest.raises(api_errors.StatusError, match="no namespace on request"):
        access_reviews.self_subject_rules(posted("SelfSubjectRulesReview"), ANN, policy)


def test_whoami_tells_the_whole_user() -> None:
    answer = access_reviews.self_subject(posted("SelfSubjectReview"), ANN, "2026-01-01T00:00:00Z")
    message = {"username": "ann", "uid": "7", "groups": ["red"], "extra": {"scopes": ["a", "b"]}}
    assert answer["status"] == {"userInfo": message}
    assert answer["metadata"] == {"creationTimestamp": "2026-01-01T00:00:00Z"}
    assert "spec" not in answer


def test_a_good_token_is_reviewed_with_its_user() -> None:
    answer = access_reviews.token(posted("TokenReview", token="t"), lambda token, audiences: (ANN, ("x",), ""))  # noqa: S106
    assert answer["status"] == {"authenticated": True, "user": ANN.info(), "audiences": ["x"]}


def test_a_bad_token_is_reviewed_with_its_fault() -> None:
    answer = access_reviews.token(posted("TokenReview", token="t"), lambda token, audiences: (None, (), "no"))  # noqa: S106
    assert answer["status"] == {"user": {}, "error": "no"}
    with pytest.raises(api_errors.StatusError, match="token is required"):
        access_reviews.token(posted("TokenReview"), lambda token, audiences: (None, (), ""))


@pytest.mark.parametrize("metadata", [{"name": "x"}, {"labels": {"a": "b"}}])
def test_a_review_has_no_metadata(policy: Policy, metadata: dict[str, Any]) -> None:
    review = posted("SubjectAccessReview", user="a", resourceAttributes={}) | {"metadata": metadata}
    with pytest.raises(api_errors.StatusError, match="must be empty"):
        access_reviews.subject_access(review, policy)
