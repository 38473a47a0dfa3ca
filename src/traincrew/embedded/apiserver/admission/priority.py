"""Priority: a pod's priority and preemption policy come from its PriorityClass."""

from __future__ import annotations

from traincrew.embedded.apiserver.admission.attributes import CREATE, UPDATE, AdmissionAttributes, Listers

_FIELDS = ("priority", "preemptionPolicy")


def admit(attributes: AdmissionAttributes, listers: Listers) -> None:
    if attributes.is_for("pods", UPDATE):
        _keep(attributes)
    if attributes.is_for("pods", CREATE):
        _resolve(attributes, listers)


def _keep(attributes: AdmissionAttributes) -> None:
    spec, old = attributes.object["spec"], (attributes.old_object or {})["spec"]
    for field in _FIELDS:
        if field not in spec and field in old:
            spec[field] = old[field]


def _resolve(attributes: AdmissionAttributes, listers: Listers) -> None:
    spec = attributes.object["spec"]
    name = spec.get("priorityClassName") or ""
    priority_class = listers.get("priorityclasses.scheduling.k8s.io", "", name) if name else listers.default_priority_class()
    if priority_class is None and name:
        raise attributes.forbidden(f"no PriorityClass with name {name} was found")
    if priority_class is None:
        priority_class = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
    elif not name:
        spec["priorityClassName"] = priority_class["metadata"]["name"]
    value, policy = priority_class.get("value") or 0, priority_class.get("preemptionPolicy")
    _check_computed(attributes, "the integer value of priority", "priority", value)
    spec["priority"] = value
    if policy:
        _check_computed(attributes, "the string value of PreemptionPolicy", "preemptionPolicy", policy)
        spec["preemptionPolicy"] = policy


def _check_computed(attributes: AdmissionAttributes, described: str, field: str, computed: object) -> None:
    given = attributes.object["spec"].get(field)
    if given is not None and given != computed:
        message = f"must not be provided in pod spec; priority admission controller computed {computed}"
        raise attributes.forbidden(f"{described} ({given}) {message} from the given PriorityClass name")
