"""Fields of a pod's spec behind feature gates that are off in Kubernetes 1.32. They are dropped without a warning."""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.apimachinery.unstructured import Object

_DISABLED = ("resources", "resourceClaims", "hostUsers")


def drop(spec: Object) -> None:
    for field in _DISABLED:
        spec.pop(field, None)
    context = spec.get("securityContext") or {}
    context.pop("supplementalGroupsPolicy", None)
    context.pop("seLinuxChangePolicy", None)
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        drop_from_containers(spec.get(kind) or ())
    for volume in spec.get("volumes") or ():
        volume.pop("image", None)


def drop_from_containers(containers: Iterable[Object]) -> None:
    for container in containers:
        container.pop("resizePolicy", None)
        if "resources" in container:
            container["resources"].pop("claims", None)
        if "procMount" in (container.get("securityContext") or ()):
            container["securityContext"]["procMount"] = "Default"
