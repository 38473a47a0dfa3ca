"""What the cluster around an object has to say to its making or changing: its namespace, its accounts, quotas, security."""

from __future__ import annotations

import random

from traincrew.apimachinery import api_errors, quota_usage
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.admission.pod_security import namespaces, policy
from traincrew.embedded.apiserver.authn import token_secrets
from traincrew.embedded.apiserver.authz import escalation
from traincrew.embedded.apiserver.registry.builtin import limit_ranges
from traincrew.embedded.apiserver.registry.builtin.write_context import Context
from traincrew.embedded.apiserver.registry.service_allocation import Addresses
from traincrew.embedded.apiserver.requests.request import Request
from traincrew.embedded.apiserver.requests.scope import RequestScope, decoded
from traincrew.embedded.apiserver.storage.records import Key, Record

NOTHING: Object = {"metadata": {}}
RBAC = "rbac.authorization.k8s.io"
IMMORTAL = ("default", "kube-system", "kube-public")


def check_namespace(scope: RequestScope, request: Request) -> None:
    """NamespaceLifecycle: objects are made in namespaces that are there and stay."""
    if not request.info.namespaced:
        return
    record = scope.store.head(Key("namespaces", "", request.namespace))
    if record is None:
        raise api_errors.not_found(api_errors.StatusDetails("namespaces", "", request.namespace))
    if b'"deletionTimestamp"' in record.value and decoded(record)["metadata"].get("deletionTimestamp"):
        why = f"unable to create new content in namespace {request.namespace} because it is being terminated"
        subject = api_errors.StatusDetails(request.info.plural, request.info.group, request.name)
        refusal = api_errors.forbidden(subject, why)
        told = f"namespace {request.namespace} is being terminated"
        refusal.causes = ({"reason": "NamespaceTerminating", "message": told, "field": "metadata.namespace"},)
        raise refusal


def check_mortal(request: Request) -> None:
    if request.info.store_name == "namespaces" and request.name in IMMORTAL:
        raise api_errors.forbidden(request.subject, "this namespace may not be deleted")


def context(scope: RequestScope, request: Request, obj: Object) -> Context:
    """What the making of this object may ask of the cluster."""
    addresses = Addresses(scope.store)
    return Context(
        uid=obj["metadata"]["uid"],
        now=scope.now(),
        suffix="".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5)),
        allocate_ip=addresses.free,
        in_use=addresses.taken,
        allocate_port=addresses.free_port,
        port_in_use=addresses.port_taken,
        priority_class=lambda name: _priority_class(scope, name),
        service_account=(lambda name: scope.object("serviceaccounts", request.namespace, name)) if scope.accounts else None,
        guards_storage=scope.accounts,
        limit_ranges=[decoded(each) for each in scope.store.list("limitranges", request.namespace)] if request.namespace else (),
    )


def _priority_class(scope: RequestScope, name: str) -> Object | None:
    if name:
        return scope.object("priorityclasses.scheduling.k8s.io", "", name)
    classes = scope.store.list("priorityclasses.scheduling.k8s.io")
    found = [decoded(each) for each in classes if b'"globalDefault":true' in each.value]  # every pod asks
    return max((each for each in found if each.get("globalDefault")), key=lambda each: int(each["value"]), default=None)


def admit_new(scope: RequestScope, request: Request, obj: Object) -> list[str]:
    """Raises StatusError; returns warnings."""
    if request.info.group == RBAC:
        escalation.check(scope.policy, request.user, request.asked, obj)
    if not request.info.namespaced:
        return _secured_namespace(scope, request, obj, NOTHING) if request.info.store_name == "namespaces" else []
    if request.info.store_name == "secrets":
        obj |= token_secrets.populated(obj, scope.identity.tokens, scope.identity.authority) or {}
    if ranges := scope.store.list("limitranges", request.namespace):
        limit_ranges.refuse(obj, request.info.plural, [decoded(each) for each in ranges])
    _check_quota(scope, request, obj)
    return _secured(scope, request, obj)


WITH_TEMPLATES = ("deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch")


def _secured(scope: RequestScope, request: Request, obj: Object) -> list[str]:
    """Pod security: pods are refused, templates of pods are only warned about."""
    name = request.info.store_name
    if name != "pods" and name not in WITH_TEMPLATES:
        return []
    record = scope.store.head(Key("namespaces", "", request.namespace))
    labels = record.selectable.labels if record else {}
    if name != "pods":
        return policy.warnings(_template(obj), labels)
    if refusal := policy.refusal(obj, labels):
        raise refusal
    return policy.warnings(obj, labels)


def _template(obj: Object) -> Object:
    spec = obj["spec"]["jobTemplate"]["spec"] if obj["kind"] == "CronJob" else obj["spec"]
    found: Object = spec["template"]
    return found


def _secured_namespace(scope: RequestScope, request: Request, after: Object, before: Object) -> list[str]:
    """What its labels ask for must make sense; that pods which are there already fall short of it is only told."""
    wanted, held = (each["metadata"].get("labels") or {} for each in (after, before))
    faults = namespaces.label_faults(wanted)
    if faults and faults != namespaces.label_faults(held):
        raise api_errors.invalid("Namespace", "", request.name, faults)
    if not namespaces.is_stricter(wanted, held):
        return []
    return namespaces.told_of_existing(request.name, map(decoded, scope.store.list("pods", request.name)), wanted)


def _check_quota(scope: RequestScope, request: Request, obj: Object) -> None:
    quotas = [decoded(each) for each in scope.store.list("resourcequotas", request.namespace)]
    if not quotas:
        return
    # What is used is counted, not read from the status: that is written a moment later, and must not let two slip in.
    held = [quota_usage.Request(decoded(each), request.info.plural, request.info.group) for each in heads(scope, request)]
    counted = [each | {"status": {"hard": _hard(each), "used": quota_usage.total(held, each)}} for each in quotas]
    quota_usage.charge(quota_usage.Request(obj, request.info.plural, request.info.group), counted)


def _hard(held: Object) -> Object:
    """The status is what counts once the quota's controller has written it."""
    return (held.get("status") or {}).get("hard") or held.get("spec", {}).get("hard") or {}


def heads(scope: RequestScope, request: Request) -> list[Record]:
    """The objects of the call's resource and namespace, with those that are accepted but not durable yet."""
    return scope.store.heads(request.info.store_name, request.namespace)


def admit_change(scope: RequestScope, request: Request, after: Object, before: Object) -> list[str]:
    if request.info.group == RBAC:
        escalation.check(scope.policy, request.user, request.asked, after, before)
    if request.subresource:
        return []
    if request.info.store_name == "namespaces":
        return _secured_namespace(scope, request, after, before)
    return _secured(scope, request, after) if request.info.store_name in WITH_TEMPLATES else []


async def after_create(scope: RequestScope, request: Request, record: Record) -> None:
    """A namespace has its default service account from the first moment: a pod may be the next request."""
    if request.info.store_name == "namespaces" and scope.accounts:
        await furnish(scope, record.key.name)


ROOT_CA = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal "
    "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)


async def furnish(scope: RequestScope, namespace: str) -> None:
    described = {"annotations": {"kubernetes.io/description": ROOT_CA}}
    for resource, kind, name, more, rest in (
        ("serviceaccounts", "ServiceAccount", "default", {}, {}),
        ("configmaps", "ConfigMap", "kube-root-ca.crt", described, {"data": {"ca.crt": scope.identity.authority.decode()}}),
    ):
        key = Key(resource, namespace, name)
        if scope.store.head(key) is None:
            meta = {"name": name, "namespace": namespace, "uid": scope.new_uid(), "creationTimestamp": scope.now(), **more}
            await scope.store.put(key, {"kind": kind, "apiVersion": "v1", "metadata": meta, **rest}, 0)
