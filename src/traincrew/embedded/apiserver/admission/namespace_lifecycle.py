"""NamespaceLifecycle: objects are created in namespaces that exist and are not terminating; some namespaces are never deleted."""

from __future__ import annotations

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.admission.attributes import CREATE, DELETE, AdmissionAttributes, Listers

UNDELETABLE = ("default", "kube-system", "kube-public")


def admit(attributes: AdmissionAttributes, listers: Listers) -> None:
    if attributes.is_for("namespaces", DELETE) and attributes.name in UNDELETABLE:
        raise attributes.forbidden("this namespace may not be deleted")
    if attributes.operation != CREATE or not attributes.info.namespaced:
        return
    namespace = listers.get("namespaces", "", attributes.namespace)
    if namespace is None:
        raise api_errors.not_found(api_errors.StatusDetails("namespaces", "", attributes.namespace))
    if namespace["metadata"].get("deletionTimestamp"):
        raise _terminating(attributes)


def _terminating(attributes: AdmissionAttributes) -> api_errors.StatusError:
    name = attributes.namespace
    error = attributes.forbidden(f"unable to create new content in namespace {name} because it is being terminated")
    message = f"namespace {name} is being terminated"
    error.causes = ({"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"},)
    return error
