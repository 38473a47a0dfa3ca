"""What the API server's admission plugins do to a pod."""

from __future__ import annotations

from traincrew.apimachinery import api_errors, pod_resources
from traincrew.apimachinery.api_errors import StatusDetails, StatusError
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.registry.builtin import limit_ranges
from traincrew.embedded.apiserver.registry.builtin.pods.scheduling import USUAL_TOLERATIONS
from traincrew.embedded.apiserver.registry.builtin.pods.volumes import token_source
from traincrew.embedded.apiserver.registry.builtin.write_context import Context

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105
_VOLUME = "kube-api-access-"
_MIRROR = "kubernetes.io/config.mirror"
_DISABLED = ("resources", "resourceClaims", "hostUsers")
"""Fields of the spec behind feature gates that are off in 1.32, without a word dropped."""


def create(obj: Object, context: Context) -> None:
    drop_disabled(obj["spec"])
    for limit_range in context.limit_ranges:
        limit_ranges.fill(obj, limit_range)
    if context.service_account is not None and _MIRROR not in (obj["metadata"].get("annotations") or {}):
        _account(obj, context)
    _priority(obj, context)
    tolerate(obj["spec"])
    _runtime(obj, context)
    obj["status"] = {"phase": "Pending", "qosClass": pod_resources.of_service(obj["spec"])}
    if obj["spec"].get("schedulingGates"):
        obj["status"]["conditions"] = [_gated(context.now or None)]
    _match_labels(obj)
    _apparmor(obj)


def update(new: Object, old: Object) -> None:
    spec, before = new["spec"], old["spec"]
    drop_disabled(spec)
    for field in ("priority", "preemptionPolicy"):
        if field not in spec and field in before:
            spec[field] = before[field]
    tolerate(spec)


def _refused(obj: Object, why: str) -> StatusError:
    return api_errors.forbidden(StatusDetails("pods", name=obj["metadata"].get("name") or ""), why)


def drop_disabled(spec: Object) -> None:
    for field in _DISABLED:
        spec.pop(field, None)
    context = spec.get("securityContext") or {}
    context.pop("supplementalGroupsPolicy", None)
    context.pop("seLinuxChangePolicy", None)
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        container.pop("resizePolicy", None)
        if "resources" in container:
            container["resources"].pop("claims", None)
        if "procMount" in (container.get("securityContext") or ()):
            container["securityContext"]["procMount"] = "Default"
    for volume in spec.get("volumes") or ():
        volume.pop("image", None)


def _account(obj: Object, context: Context) -> None:
    spec = obj["spec"]
    name = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    assert context.service_account is not None
    account = context.service_account(name)
    if account is None:
        namespace = obj["metadata"].get("namespace") or ""
        raise _refused(obj, f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found')
    mounted = spec.get("automountServiceAccountToken")
    if mounted is None:
        mounted = account.get("automountServiceAccountToken")
    if mounted is not False:
        _mount_token(spec, context.suffix)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [{"name": each.get("name", "")} for each in account["imagePullSecrets"]]


def _mount_token(spec: Object, suffix: str) -> None:
    volumes = spec.get("volumes") or []
    volume = next((each["name"] for each in volumes if each["name"].startswith(_VOLUME)), "")
    mount = {"name": volume or _VOLUME + suffix, "readOnly": True, "mountPath": TOKEN_PATH}
    needed = False
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        mounts = container.get("volumeMounts") or []
        if all(each.get("mountPath") != TOKEN_PATH for each in mounts):
            container["volumeMounts"] = [*mounts, dict(mount)]
            needed = True
    if needed and not volume:
        spec["volumes"] = [*volumes, {"name": mount["name"], "projected": token_source()}]


def _priority(obj: Object, context: Context) -> None:
    spec = obj["spec"]
    name = spec.get("priorityClassName") or ""
    found = context.priority_class(name)
    if found is None and name:
        raise _refused(obj, f"no PriorityClass with name {name} was found")
    if found is None:
        found = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
    elif not name:
        spec["priorityClassName"] = found["metadata"]["name"]
    value, policy = found.get("value") or 0, found.get("preemptionPolicy")
    _agrees(obj, "the integer value of priority", "priority", value)
    spec["priority"] = value
    if policy:
        _agrees(obj, "the string value of PreemptionPolicy", "preemptionPolicy", policy)
        spec["preemptionPolicy"] = policy


def _agrees(obj: Object, what: str, field: str, computed: object) -> None:
    given = obj["spec"].get(field)
    if given is not None and given != computed:
        words = f"must not be provided in pod spec; priority admission controller computed {computed}"
        words += " from the given PriorityClass name"
        raise _refused(obj, f"{what} ({given}) {words}")


def tolerate(spec: Object) -> None:
    """A node that is lost is given five minutes, unless the pod says otherwise."""
    tolerations = spec.get("tolerations") or []
    if not tolerations:
        spec["tolerations"] = [dict(each) for each in USUAL_TOLERATIONS]
        return
    missing = [dict(usual) for usual in USUAL_TOLERATIONS if not any(_tolerates(each, usual["key"]) for each in tolerations)]
    if missing:
        spec["tolerations"] = [*tolerations, *missing]


def _tolerates(toleration: Object, taint: str) -> bool:
    return (toleration.get("key") or taint) == taint and (toleration.get("effect") or "NoExecute") == "NoExecute"


def _gated(now: str | None) -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }


def _runtime(obj: Object, context: Context) -> None:
    spec, found = obj["spec"], None
    if (name := spec.get("runtimeClassName")) is not None:
        found = context.runtime_class(name)
        if found is None:
            raise _refused(obj, f'pod rejected: RuntimeClass "{name}" not found')
    overhead = ((found or {}).get("overhead") or {}).get("podFixed")
    if not overhead:
        if spec.get("overhead"):
            raise _refused(obj, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
        return
    if spec.get("overhead") not in (None, overhead):
        raise _refused(obj, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    spec["overhead"] = dict(overhead)


def _apparmor(obj: Object) -> None:
    """Kubelets before 1.30 read the annotation."""
    for_pod = (obj["spec"].get("securityContext") or {}).get("appArmorProfile")
    for container in (*(obj["spec"].get("initContainers") or ()), *(obj["spec"].get("containers") or ())):
        profile = (container.get("securityContext") or {}).get("appArmorProfile") or for_pod
        if profile and (told := _PROFILES.get(profile.get("type"), "")):
            annotations = obj["metadata"].setdefault("annotations", {})
            annotations.setdefault(f"{_APPARMOR}{container.get('name')}", told + (profile.get("localhostProfile") or ""))


_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES = {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default", "Localhost": "localhost/"}


def _match_labels(obj: Object) -> None:
    """matchLabelKeys of an affinity become part of its selector, with the new pod's own values."""
    affinity, labels = obj["spec"].get("affinity"), obj["metadata"].get("labels") or {}
    for kind in ("podAffinity", "podAntiAffinity") if affinity else ():
        terms = affinity.get(kind) or {}
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        for term in (*required, *(each["podAffinityTerm"] for each in preferred)):
            _match_term(term, labels)


def _match_term(term: Object, labels: dict[str, str]) -> None:
    if term.get("labelSelector") is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field) or ():
            if key in labels:
                expression = {"key": key, "operator": operator, "values": [labels[key]]}
                term["labelSelector"].setdefault("matchExpressions", []).append(expression)
