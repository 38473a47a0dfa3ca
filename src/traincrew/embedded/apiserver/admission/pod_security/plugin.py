"""PodSecurity: pods must meet the level that their namespace enforces, in whichever way they are written.

Templates of pods and namespaces get warnings.
"""

from __future__ import annotations

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.admission.attributes import CREATE, UPDATE, AdmissionAttributes, Listers
from traincrew.embedded.apiserver.admission.pod_security import namespaces, policy

WITH_TEMPLATES = (
    "replicationcontrollers", "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch",
    "cronjobs.batch",
)  # fmt: skip
IGNORED_SUBRESOURCES = ("binding", "eviction", "status")
"""They cannot change the spec of a pod. Every other subresource is validated, one that is added later, too."""
_OPERATIONS = (CREATE, UPDATE)


def validate(attributes: AdmissionAttributes, listers: Listers) -> list[str]:
    resource = attributes.info.store_name
    if attributes.is_for("namespaces", *_OPERATIONS):
        return _validate_namespace(attributes, listers)
    if resource == "pods" and attributes.operation in _OPERATIONS:
        return _validate_pod(attributes, listers)
    if resource in WITH_TEMPLATES and attributes.is_for(resource, *_OPERATIONS):
        return _validate_template(attributes, listers)
    return []


def _validate_pod(attributes: AdmissionAttributes, listers: Listers) -> list[str]:
    new, old = attributes.object, attributes.old_object
    if attributes.subresource in IGNORED_SUBRESOURCES:
        return []
    levels = policy.from_labels(_labels(attributes, listers))
    if levels == policy.PRIVILEGED or (old is not None and not _is_significant_update(new, old)):
        return []
    if attributes.annotations is not None:
        attributes.annotations.update(policy.audit_annotations(new, levels, enforced=True))
    if violations := policy.violations(new, levels.enforce):
        raise policy.violation_error(attributes.name, levels.enforce, violations)
    return policy.warnings(new, levels)


def _validate_template(attributes: AdmissionAttributes, listers: Listers) -> list[str]:
    template = _template(attributes.object)
    if template is None:
        return []
    levels = policy.from_labels(_labels(attributes, listers))
    if attributes.annotations is not None:
        attributes.annotations.update(policy.audit_annotations(template, levels, enforced=False))
    return policy.warnings(template, levels)


def _labels(attributes: AdmissionAttributes, listers: Listers) -> dict[str, str]:
    namespace = listers.get("namespaces", "", attributes.namespace)
    return ((namespace or {}).get("metadata") or {}).get("labels") or {}


def _template(obj: Object) -> Object | None:
    """None: a ReplicationController may have no template."""
    spec = obj["spec"]["jobTemplate"]["spec"] if obj["kind"] == "CronJob" else obj["spec"]
    template: Object | None = spec.get("template")
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


def _is_significant_update(new: Object, old: Object) -> bool:
    """Other updates are allowed even if the level of the namespace has become stricter since the pod was created."""
    fixed = any(_images(new, kind) != _images(old, kind) for kind in ("containers", "initContainers"))
    return fixed or _has_new_ephemeral_image(new, old)


def _images(pod: Object, kind: str) -> list[str]:
    return [each.get("image") or "" for each in pod["spec"].get(kind) or ()]


def _has_new_ephemeral_image(new: Object, old: Object) -> bool:
    before = {each.get("name"): each.get("image") for each in old["spec"].get("ephemeralContainers") or ()}
    after = new["spec"].get("ephemeralContainers") or ()
    return any(each.get("name") not in before or before[each.get("name")] != each.get("image") for each in after)
