"""Mount points inside other volumes. PURE."""

from __future__ import annotations

import posixpath

from traincrew.apimachinery.unstructured import Object


def nested_mount_points(volume: str, pod: Object) -> list[str]:
    """The directories that a volume needs because a container mounts another volume there."""
    directories = set()
    spec = pod["spec"]
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        mounts = container.get("volumeMounts") or ()
        paths = [posixpath.normpath(each["mountPath"]) for each in mounts]
        for each, path in zip(mounts, paths, strict=True):
            if each["name"] == volume and not each.get("subPath") and not each.get("subPathExpr"):
                below = path.rstrip("/") + "/"
                directories |= {other[len(below) :] for other in paths if other.startswith(below)}
    return sorted(directories)
