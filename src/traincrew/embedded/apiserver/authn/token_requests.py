"""TokenRequest: the subresource `token` of a service account."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from traincrew.apimachinery import api_errors, field_errors, times
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authn.service_account_tokens import Lookup, Tokens
from traincrew.embedded.apiserver.authn.token_claims import AUDIENCES, Bound

GROUP = "authentication.k8s.io"
DEFAULT_LIFE = 3600
SHORTEST = 600
LONGEST = 1 << 32
PROJECTED = 3607
"""The requested life of the kubelet's pod tokens. Such tokens are valid for a year, for programs that read theirs only once."""
EXTENDED = 365 * 24 * 3600


@dataclasses.dataclass(frozen=True)
class TokenRequestScope:
    namespace: str
    account: str
    now: datetime.datetime


def issue(tokens: Tokens, request: Object, scope: TokenRequestScope) -> Object:
    """The request with its token, or a StatusError."""
    lookup = tokens.lookup
    _check_metadata(request.get("metadata") or {}, scope)
    account = lookup("serviceaccounts", scope.namespace, scope.account)
    if account is None:
        raise api_errors.not_found(api_errors.StatusDetails("serviceaccounts", "", scope.account))
    spec = dict(request.get("spec") or {})
    seconds = spec.get("expirationSeconds")
    seconds = DEFAULT_LIFE if seconds is None else seconds
    _check_expiration(seconds)
    audiences = tuple(spec.get("audiences") or AUDIENCES)
    reference = spec.get("boundObjectRef")
    bound = _bound(lookup, reference, scope) if reference else Bound()
    projected = bound.pod is not None and seconds == PROJECTED and set(audiences) <= set(AUDIENCES)
    life, warns = (EXTENDED, seconds) if projected else (seconds, 0)
    token = tokens.issue(account, life, warns=warns, audiences=audiences, bound=bound)
    message = {"audiences": list(audiences), "expirationSeconds": seconds, "boundObjectRef": reference}
    return _response(request, message, token, scope)


def _response(request: Object, spec: Object, token: str, scope: TokenRequestScope) -> Object:
    expiry = scope.now + datetime.timedelta(seconds=spec["expirationSeconds"])
    metadata = {"name": scope.account, "namespace": scope.namespace, "creationTimestamp": times.rfc3339(scope.now)}
    return {
        "kind": "TokenRequest",
        "apiVersion": request.get("apiVersion", f"{GROUP}/v1"),
        "metadata": metadata | {key: value for key, value in (request.get("metadata") or {}).items() if key not in metadata},
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": times.rfc3339(expiry)},
    }


def _check_metadata(metadata: Object, scope: TokenRequestScope) -> None:
    if metadata.get("namespace") not in (None, "", scope.namespace):
        raise api_errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")
    name = metadata.get("name")
    if name and name != scope.account:
        error = field_errors.invalid("metadata.name", name, "must match the service account name if specified")
        raise api_errors.invalid("TokenRequest", GROUP, scope.account, [error])


def _check_expiration(seconds: int) -> None:
    path, errors = "spec.expirationSeconds", []
    if seconds < SHORTEST:
        errors.append(field_errors.invalid(path, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > LONGEST:
        errors.append(field_errors.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds"))
    if errors:
        raise api_errors.invalid("TokenRequest", GROUP, "", errors)


def _bound(lookup: Lookup, reference: dict[str, Any], scope: TokenRequestScope) -> Bound:
    kind, api_version, name = reference.get("kind") or "", reference.get("apiVersion") or "", reference.get("name") or ""
    group, _, version = api_version.rpartition("/")
    if group or kind not in ("Pod", "Secret", "Node"):
        raise api_errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    plural = f"{kind.lower()}s"
    obj = lookup(plural, "" if kind == "Node" else scope.namespace, name)
    if obj is None:
        raise api_errors.not_found(api_errors.StatusDetails(plural, "", name))
    if kind == "Pod" and obj["spec"].get("serviceAccountName", "") != scope.account:
        why = "to pod running with different serviceaccount name."
        raise api_errors.bad_request(f'cannot bind token for serviceaccount "{scope.account}" {why}')
    uid = reference.get("uid")
    if uid and uid != obj["metadata"]["uid"]:
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record"
        message = f"{why}. The object might have been deleted and then recreated"
        raise api_errors.conflict(api_errors.StatusDetails(kind, "", name), message)
    if kind == "Pod":
        return Bound(pod=obj, node=_node_of(lookup, obj))
    return Bound(secret=obj) if kind == "Secret" else Bound(node=obj)


def _node_of(lookup: Lookup, pod: Object) -> Object | None:
    """A node that does not exist is named all the same."""
    name = pod["spec"].get("nodeName")
    if not name:
        return None
    return lookup("nodes", "", name) or {"metadata": {"name": name}}
