"""Access reviews: SubjectAccessReview, SelfSubjectRulesReview, SelfSubjectReview, TokenReview."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from traincrew.apimachinery import api_errors, go_format
from traincrew.apimachinery.field_errors import INVALID, FieldError, invalid
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import policy_rules, review_selectors
from traincrew.embedded.apiserver.authz.attributes import Attributes, non_resource
from traincrew.embedded.apiserver.authz.policy_rules import PolicyRule
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy

AUTHORIZATION = "authorization.k8s.io"


def self_subject_access(review: Object, user: User, policy: RBACPolicy) -> Object:
    spec = review.get("spec") or {}
    _raise_invalid(_attribute_errors(spec) + review_selectors.errors(spec) + _metadata_errors(review))
    return _with_decision(review, user, policy)


def subject_access(review: Object, policy: RBACPolicy) -> Object:
    spec = review.get("spec") or {}
    _raise_invalid(_subject_errors(spec) + _metadata_errors(review))
    return _with_decision(review, _subject(spec), policy)


def local_subject_access(review: Object, namespace: str, policy: RBACPolicy) -> Object:
    """The request's `namespace` becomes the review's."""
    metadata = review.get("metadata") or {}
    if metadata.get("namespace") not in (None, "", namespace):
        raise api_errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")
    spec = review.get("spec") or {}
    _raise_invalid(_subject_errors(spec) + _metadata_errors(review, ("namespace",)) + _local_errors(spec, namespace))
    return _with_decision(review | {"metadata": {"namespace": namespace, **metadata}}, _subject(spec), policy)


def self_subject_rules(review: Object, user: User, policy: RBACPolicy) -> Object:
    """The rules that `kubectl auth can-i --list` prints. As in kube-apiserver, the response has an empty spec."""
    namespace = (review.get("spec") or {}).get("namespace")
    if not namespace:
        raise api_errors.bad_request("no namespace on request")
    rules, errors = policy.rules_for(user, namespace)
    status: Object = {
        "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
        "nonResourceRules": [_path_rule(rule) for rule in rules if rule.urls],
        "incomplete": False,
    }
    if errors:
        status["evaluationError"] = errors
    return _with_type_meta(review, {"creationTimestamp": None}) | {"spec": {}, "status": status}


def self_subject(review: Object, user: User, now: str) -> Object:
    """`kubectl auth whoami`; `now` is in RFC 3339 format."""
    return _with_type_meta(review, {"creationTimestamp": now}) | {"status": {"userInfo": user.info()}}


Verify = Callable[[str, tuple[str, ...]], tuple[User | None, tuple[str, ...], str]]
"""From a token and the requested audiences to its user, the matching audiences, and the error."""


def token(review: Object, verify: Verify) -> Object:
    spec = review.get("spec") or {}
    if not spec.get("token"):
        raise api_errors.bad_request("token is required for TokenReview in authentication")
    user, audiences, error = verify(spec["token"], tuple(spec.get("audiences") or ()))
    status: Object = {"user": user.info() if user else {}}
    if user:
        status = {"authenticated": True, **status, "audiences": list(audiences)}
    if error:
        status["error"] = error
    return _with_status(review, status)


def _with_decision(review: Object, user: User, policy: RBACPolicy) -> Object:
    spec = review["spec"]
    allowed, reason = policy.allowed(user, _attributes(spec))
    status: Object = {"allowed": allowed}
    if reason:
        status["reason"] = reason
    if ignored := review_selectors.ignored(spec.get("resourceAttributes") or {}):
        status["evaluationError"] = ignored
    return _with_status(review, status)


def _with_status(review: Object, status: Object) -> Object:
    metadata = {"creationTimestamp": None} | (review.get("metadata") or {})
    spec = {key: _unempty(value) for key, value in review["spec"].items()}
    return _with_type_meta(review, metadata) | {"spec": spec, "status": status}


def _unempty(value: Any) -> Any:
    """Empty strings are omitted."""
    return {key: inner for key, inner in value.items() if inner != ""} if isinstance(value, dict) else value


def _with_type_meta(review: Object, metadata: Object) -> Object:
    return {"kind": review["kind"], "apiVersion": review["apiVersion"], "metadata": metadata}


def _attributes(spec: Mapping[str, Any]) -> Attributes:
    requested = spec.get("resourceAttributes")
    if requested is None:
        other = spec["nonResourceAttributes"]
        return non_resource(other.get("verb", ""), other.get("path", ""))
    names = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(*(requested.get(name) or "" for name in names))


def _subject(spec: Mapping[str, Any]) -> User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "", extra)


def _resource_rule(rule: PolicyRule) -> Object:
    resource_rule = {"verbs": list(rule.verbs), "apiGroups": list(rule.groups), "resources": list(rule.resources)}
    return resource_rule | ({"resourceNames": list(rule.names)} if rule.names else {})


def _path_rule(rule: PolicyRule) -> Object:
    return policy_rules.document(PolicyRule(rule.verbs, urls=rule.urls))


def _raise_invalid(errors: list[FieldError]) -> None:
    """As in kube-apiserver, the message omits the kind."""
    if errors:
        raise api_errors.invalid("", AUTHORIZATION, "", errors)


def _attribute_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        return [
            _unsupported_paths("spec.nonResourceAttributes", other, "cannot be specified in combination with resourceAttributes")
        ]
    if resource is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid("spec.resourceAttributes", "null", why)]
    return []


def _subject_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    errors = _attribute_errors(spec)
    if not spec.get("user") and not spec.get("groups"):
        errors.append(invalid("spec.user", "", "at least one of user or group must be specified"))
    return errors + review_selectors.errors(spec)


def _local_errors(spec: Mapping[str, Any], namespace: str) -> list[FieldError]:
    errors = []
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and (resource.get("namespace") or "") != namespace:
        review_namespace = resource.get("namespace") or ""
        errors.append(invalid("spec.resourceAttributes.namespace", review_namespace, "must match metadata.namespace"))
    if other is not None:
        errors.append(_unsupported_paths("spec.nonResourceAttributes", other, "disallowed on this kind of request"))
    return errors


def _metadata_errors(review: Object, free: tuple[str, ...] = ()) -> list[FieldError]:
    metadata = review.get("metadata") or {}
    ours = {key: value for key, value in metadata.items() if value and key not in (*free, "managedFields")}
    if not ours:
        return []
    return [invalid("metadata", metadata, "must be empty except for namespace" if free else "must be empty")]


def _unsupported_paths(path: str, value: Mapping[str, Any], why: str) -> FieldError:
    """As in kube-apiserver, the value is a Go literal."""
    requested, verb = go_format.quote(value.get("path", "")), go_format.quote(value.get("verb", ""))
    literal = f"authorization.NonResourceAttributes{{Path:{requested}, Verb:{verb}}}"
    return FieldError(INVALID, path, f"Invalid value: {literal}: {why}")
