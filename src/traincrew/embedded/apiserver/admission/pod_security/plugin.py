"""PodSecurity: new pods must meet the level that their namespace enforces; templates of pods and namespaces get warnings."""

from __future__ import annotations

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.admission.attributes import CREATE, UPDATE, AdmissionAttributes, Listers
from traincrew.embedded.apiserver.admission.pod_security import namespaces, policy

WITH_TEMPLATES = ("deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch")


def validate(attributes: AdmissionAttributes, listers: Listers) -> list[str]:
    resource = attributes.info.store_name
    if attributes.is_for("namespaces", CREATE, UPDATE):
        return _validate_namespace(attributes, listers)
    if attributes.is_for("pods", CREATE):
        labels = _labels(attributes, listers)
        if error := policy.violation_error(attributes.object, labels):
            raise error
        return policy.warnings(attributes.object, labels)
    if resource in WITH_TEMPLATES and attributes.is_for(resource, CREATE, UPDATE):
        return policy.warnings(_template(attributes.object), _labels(attributes, listers))
    return []


def _labels(attributes: AdmissionAttributes, listers: Listers) -> dict[str, str]:
    namespace = listers.get("namespaces", "", attributes.namespace)
    return ((namespace or {}).get("metadata") or {}).get("labels") or {}


def _template(obj: Object) -> Object:
    spec = obj["spec"]["jobTemplate"]["spec"] if obj["kind"] == "CronJob" else obj["spec"]
    template: Object = spec["template"]
    return template


def _validate_namespace(attributes: AdmissionAttributes, listers: Listers) -> list[str]:
    """The labels must be well-formed. Existing pods that fall short of a new level only cause a warning."""
    old_object = attributes.old_object or {"metadata": {}}
    new, old = (each["metadata"].get("labels") or {} for each in (attributes.object, old_object))
    errors = namespaces.label_errors(new)
    if errors and errors != namespaces.label_errors(old):
        raise api_errors.invalid("Namespace", "", attributes.name, errors)
    if not namespaces.is_stricter(new, old):
        return []
    return namespaces.existing_pod_warnings(attributes.name, listers.list("pods", attributes.name), new)
