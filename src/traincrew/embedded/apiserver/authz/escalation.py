"""Privilege escalation checks: a user cannot grant permissions that they do not hold."""

from __future__ import annotations

from traincrew.apimachinery import api_errors, go_format
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import policy_rules, role_aggregation
from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.policy_rules import ALL, PolicyRule
from traincrew.embedded.apiserver.authz.rbac import GROUP, RBACPolicy

FULL = (PolicyRule((ALL,), (ALL,), (ALL,)), PolicyRule((ALL,), urls=(ALL,)))
_GARBAGE_FIELDS = ("ownerReferences", "finalizers", "managedFields")


def check(policy: RBACPolicy, user: User, requested: Attributes, new: Object, old: Object | None = None) -> None:
    """Raises a StatusError (403, or 404 if the role to bind does not exist) if writing `new` would escalate privileges.

    `asked` is the request itself: `escalate` is checked with its name, which a create does not have.
    """
    if user.is_master or (old is not None and _same_but_for_garbage(new, old)):
        return
    if new["kind"] in ("Role", "ClusterRole"):
        _check_role(policy, user, requested, (new, old))
    else:
        _check_binding(policy, user, requested, new)


def _check_role(policy: RBACPolicy, user: User, requested: Attributes, written: tuple[Object, Object | None]) -> None:
    resource = "roles" if written[0]["kind"] == "Role" else "clusterroles"
    escalate = Attributes("escalate", GROUP, resource, namespace=requested.namespace, name=requested.name)
    if policy.allowed(user, escalate)[0]:
        return
    new, old = written
    subject = api_errors.StatusDetails(resource, GROUP, new["metadata"].get("name", ""))
    if missing := _missing(policy, user, requested.namespace, policy_rules.of(new)):
        raise api_errors.forbidden(subject, missing)
    aggregates = resource == "clusterroles" and any(role_aggregation.is_aggregated(each) for each in (new, old) if each)
    if aggregates and _missing(policy, user, requested.namespace, FULL):
        raise api_errors.forbidden(subject, "must have cluster-admin privileges to use the aggregationRule")


def _check_binding(policy: RBACPolicy, user: User, requested: Attributes, new: Object) -> None:
    reference = new["roleRef"]
    kind, name = reference["kind"], reference["name"]
    bind = Attributes("bind", reference.get("apiGroup", ""), f"{kind.lower()}s", namespace=requested.namespace, name=name)
    if policy.allowed(user, bind)[0]:
        return
    resource = "rolebindings" if new["kind"] == "RoleBinding" else "clusterrolebindings"
    granted = policy.rules_of(kind, name, requested.namespace)
    if granted is None:  # kube-apiserver names the role here, too
        raise api_errors.not_found(api_errors.StatusDetails(resource, GROUP, name))
    if missing := _missing(policy, user, requested.namespace, granted):
        raise api_errors.forbidden(api_errors.StatusDetails(resource, GROUP, new["metadata"].get("name", "")), missing)


def _missing(policy: RBACPolicy, user: User, namespace: str, requested: tuple[PolicyRule, ...]) -> str:
    """The missing permissions as text; empty if there are none."""
    owned, errors = policy.rules_for(user, namespace)
    missing = policy_rules.uncovered(owned, requested)
    if not missing:
        return ""
    message = "\n".join(sorted({rule.words() for rule in policy_rules.compact(missing)}))
    who = f'user "{user.name}" (groups={go_format.quote_list(user.groups)})'
    resolution = f"; resolution errors: [{errors}]" if errors else ""
    return f"{who} is attempting to grant RBAC permissions not currently held:\n{message}{resolution}"


def _same_but_for_garbage(new: Object, old: Object) -> bool:
    """Fields that the garbage collector writes grant nothing."""
    return _without_garbage(new) == _without_garbage(old)


def _without_garbage(document: Object) -> Object:
    metadata = {key: value for key, value in document["metadata"].items() if key not in _GARBAGE_FIELDS}
    return document | {"metadata": metadata}
