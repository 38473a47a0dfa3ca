"""The objects that every namespace contains: the default service account and the certificate of the API server's CA."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object

SERVICE_ACCOUNT = "default"
ROOT_CA = "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal "
    "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)


def service_account() -> Object:
    return {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": SERVICE_ACCOUNT}}


def root_ca(authority: bytes) -> Object:
    """authority: the certificate of the certificate authority, PEM."""
    metadata = {"name": ROOT_CA, "annotations": {"kubernetes.io/description": _DESCRIPTION}}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"ca.crt": authority.decode()}}
