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


def check_namespace(cluster: RequestScope, call: Request) -> None:
    """NamespaceLifecycle: objects are made in namespaces that are there and stay."""
    if not call.served.namespaced:
        return
    record = cluster.store.head(Key("namespaces", "", call.namespace))
    if record is None:
        raise api_errors.not_found(api_errors.StatusDetails("namespaces", "", call.namespace))
    if b'"deletionTimestamp"' in record.value and decoded(record)["metadata"].get("deletionTimestamp"):
        why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
        subject = api_errors.StatusDetails(call.served.plural, call.served.group, call.name)
        refusal = api_errors.forbidden(subject, why)
        told = f"namespace {call.namespace} is being terminated"
        refusal.causes = ({"reason": "NamespaceTerminating", "message": told, "field": "metadata.namespace"},)
        raise refusal


def check_mortal(call: Request) -> None:
    if call.served.store_name == "namespaces" and call.name in IMMORTAL:
        raise api_errors.forbidden(call.subject, "this namespace may not be deleted")


def context(cluster: RequestScope, call: Request, obj: Object) -> Context:
    """What the making of this object may ask of the cluster."""
    addresses = Addresses(cluster.store)
    return Context(
        uid=obj["metadata"]["uid"],
        now=cluster.now(),
        suffix="".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5)),
        allocate_ip=addresses.free,
        in_use=addresses.taken,
        allocate_port=addresses.free_port,
        port_in_use=addresses.port_taken,
        priority_class=lambda name: _priority_class(cluster, name),
        service_account=(lambda name: cluster.object("serviceaccounts", call.namespace, name)) if cluster.accounts else None,
        guards_storage=cluster.accounts,
        limit_ranges=[decoded(each) for each in cluster.store.list("limitranges", call.namespace)] if call.namespace else (),
    )


def _priority_class(cluster: RequestScope, name: str) -> Object | None:
    if name:
        return cluster.object("priorityclasses.scheduling.k8s.io", "", name)
    classes = cluster.store.list("priorityclasses.scheduling.k8s.io")
    found = [decoded(each) for each in classes if b'"globalDefault":true' in each.value]  # every pod asks
    return max((each for each in found if each.get("globalDefault")), key=lambda each: int(each["value"]), default=None)


def admit_new(cluster: RequestScope, call: Request, obj: Object) -> list[str]:
    """Raises StatusError; returns warnings."""
    if call.served.group == RBAC:
        escalation.check(cluster.policy, call.user, call.asked, obj)
    if not call.served.namespaced:
        return _secured_namespace(cluster, call, obj, NOTHING) if call.served.store_name == "namespaces" else []
    if call.served.store_name == "secrets":
        obj |= token_secrets.filled(obj, cluster.identity.tokens, cluster.identity.authority) or {}
    if ranges := cluster.store.list("limitranges", call.namespace):
        limit_ranges.refuse(obj, call.served.plural, [decoded(each) for each in ranges])
    _check_quota(cluster, call, obj)
    return _secured(cluster, call, obj)


WITH_TEMPLATES = ("deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch")


def _secured(cluster: RequestScope, call: Request, obj: Object) -> list[str]:
    """Pod security: pods are refused, templates of pods are only warned about."""
    name = call.served.store_name
    if name != "pods" and name not in WITH_TEMPLATES:
        return []
    record = cluster.store.head(Key("namespaces", "", call.namespace))
    labels = record.facts.labels if record else {}
    if name != "pods":
        return policy.warnings(_template(obj), labels)
    if refusal := policy.refusal(obj, labels):
        raise refusal
    return policy.warnings(obj, labels)


def _template(obj: Object) -> Object:
    spec = obj["spec"]["jobTemplate"]["spec"] if obj["kind"] == "CronJob" else obj["spec"]
    found: Object = spec["template"]
    return found


def _secured_namespace(cluster: RequestScope, call: Request, after: Object, before: Object) -> list[str]:
    """What its labels ask for must make sense; that pods which are there already fall short of it is only told."""
    wanted, held = (each["metadata"].get("labels") or {} for each in (after, before))
    faults = namespaces.label_faults(wanted)
    if faults and faults != namespaces.label_faults(held):
        raise api_errors.invalid("Namespace", "", call.name, faults)
    if not namespaces.is_stricter(wanted, held):
        return []
    return namespaces.told_of_existing(call.name, map(decoded, cluster.store.list("pods", call.name)), wanted)


def _check_quota(cluster: RequestScope, call: Request, obj: Object) -> None:
    quotas = [decoded(each) for each in cluster.store.list("resourcequotas", call.namespace)]
    if not quotas:
        return
    # What is used is counted, not read from the status: that is written a moment later, and must not let two slip in.
    held = [quota_usage.Request(decoded(each), call.served.plural, call.served.group) for each in heads(cluster, call)]
    counted = [each | {"status": {"hard": _hard(each), "used": quota_usage.total(held, each)}} for each in quotas]
    quota_usage.charge(quota_usage.Request(obj, call.served.plural, call.served.group), counted)


def _hard(held: Object) -> Object:
    """The status is what counts once the quota's controller has written it."""
    return (held.get("status") or {}).get("hard") or held.get("spec", {}).get("hard") or {}


def heads(cluster: RequestScope, call: Request) -> list[Record]:
    """The objects of the call's resource and namespace, with those that are accepted but not durable yet."""
    return cluster.store.heads(call.served.store_name, call.namespace)


def admit_change(cluster: RequestScope, call: Request, after: Object, before: Object) -> list[str]:
    if call.served.group == RBAC:
        escalation.check(cluster.policy, call.user, call.asked, after, before)
    if call.subresource:
        return []
    if call.served.store_name == "namespaces":
        return _secured_namespace(cluster, call, after, before)
    return _secured(cluster, call, after) if call.served.store_name in WITH_TEMPLATES else []


async def after_create(cluster: RequestScope, call: Request, record: Record) -> None:
    """A namespace has its default service account from the first moment: a pod may be the next request."""
    if call.served.store_name == "namespaces" and cluster.accounts:
        await furnish(cluster, record.key.name)


ROOT_CA = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal "
    "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)


async def furnish(cluster: RequestScope, namespace: str) -> None:
    described = {"annotations": {"kubernetes.io/description": ROOT_CA}}
    for resource, kind, name, more, rest in (
        ("serviceaccounts", "ServiceAccount", "default", {}, {}),
        ("configmaps", "ConfigMap", "kube-root-ca.crt", described, {"data": {"ca.crt": cluster.identity.authority.decode()}}),
    ):
        key = Key(resource, namespace, name)
        if cluster.store.head(key) is None:
            meta = {"name": name, "namespace": namespace, "uid": cluster.new_uid(), "creationTimestamp": cluster.now(), **more}
            await cluster.store.put(key, {"kind": kind, "apiVersion": "v1", "metadata": meta, **rest}, 0)
