"""Paths of the resources that the embedded API server serves, and object names derived from scenario names."""

from __future__ import annotations

import hashlib

CORE = "/api/v1"
KUBEFLOW = "/apis/kubeflow.org/v1"
PREFIXES = {
    "jobs": "/apis/batch/v1", "cronjobs": "/apis/batch/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1", "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "clusterroles": "/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "leases": "/apis/coordination.k8s.io/v1", "events.events.k8s.io": "/apis/events.k8s.io/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2", "priorityclasses": "/apis/scheduling.k8s.io/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1", "poddisruptionbudgets": "/apis/policy/v1",
    "deployments": "/apis/apps/v1", "replicasets": "/apis/apps/v1", "statefulsets": "/apis/apps/v1",
    "storageclasses": "/apis/storage.k8s.io/v1", "ingresses": "/apis/networking.k8s.io/v1",
    "networkpolicies": "/apis/networking.k8s.io/v1",
    "tfjobs": KUBEFLOW, "pytorchjobs": KUBEFLOW, "mpijobs": KUBEFLOW, "xgboostjobs": KUBEFLOW, "paddlejobs": KUBEFLOW,
    "jaxjobs": KUBEFLOW,
    "selfsubjectaccessreviews": "/apis/authorization.k8s.io/v1", "subjectaccessreviews": "/apis/authorization.k8s.io/v1",
    "localsubjectaccessreviews": "/apis/authorization.k8s.io/v1",
    "selfsubjectrulesreviews": "/apis/authorization.k8s.io/v1", "tokenreviews": "/apis/authentication.k8s.io/v1",
    "selfsubjectreviews": "/apis/authentication.k8s.io/v1",
}  # fmt: skip
CLUSTER_SCOPED = {
    "namespaces", "nodes", "persistentvolumes", "clusterroles", "clusterrolebindings", "priorityclasses", "storageclasses",
    "customresourcedefinitions", "selfsubjectaccessreviews", "subjectaccessreviews", "selfsubjectrulesreviews",
    "tokenreviews", "selfsubjectreviews",
}  # fmt: skip


def path(resource: str, namespace: str, name: str = "", sub: str = "") -> str:
    """`resource` is a plural of the tables above, of the core group, or with its prefix: `/apis/example.com/v1/widgets`."""
    prefix, _, plural = resource.rpartition("/")
    prefix = prefix or PREFIXES.get(resource, CORE)
    plural = plural.partition(".")[0]
    scoped = namespace and plural not in CLUSTER_SCOPED
    parts = [prefix, *(("namespaces", namespace) if scoped else ()), plural, *filter(None, (name, sub))]
    return "/".join(parts)


def slug(case: str) -> str:
    """A name that fits into a label value, even with a suffix."""
    text = case.replace("_", "-").replace(".", "-")
    return text if len(text) <= 34 else f"{text[:28].rstrip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:5]}"
