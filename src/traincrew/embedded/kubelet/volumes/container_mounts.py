"""The volume mounts of a container."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.envvars import expansion
from traincrew.embedded.kubelet.envvars.errors import ConfigError
from traincrew.embedded.kubelet.runtime import spec
from traincrew.embedded.kubelet.volumes import sub_path
from traincrew.embedded.kubelet.volumes.pod_volumes import MountedVolumes

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
PATH_MAX = 4096
"""Of Linux: the bytes of a path."""


def build_mounts(
    container: Object, mounted: MountedVolumes, variables: Mapping[str, str] | None = None
) -> tuple[spec.Mount, ...]:
    """Raises ConfigError. variables: for subPathExpr."""
    if devices := container.get("volumeDevices"):
        message = f'cannot find volume "{devices[0]["name"]}" to pass into container "{container["name"]}"'
        raise ConfigError(f"{message}: block volumes are not supported")
    volume_mounts = container.get("volumeMounts") or ()
    return tuple(_mount(each, container["name"], mounted, variables or {}) for each in volume_mounts)


def _mount(volume_mount: Object, container: str, mounted: MountedVolumes, variables: Mapping[str, str]) -> spec.Mount:
    name = volume_mount["name"]
    volume = mounted.volumes.get(name)
    if volume is None:
        raise ConfigError(f'cannot find volume "{name}" to mount into container "{container}"')
    inner = _sub_path(volume_mount, variables)
    if inner:
        try:
            sub_path.prepare(volume.path, inner)
        except OSError:
            # The message must not reveal paths of the machine to the pod's user.
            message = f'failed to prepare subPath for volumeMount "{name}" of container "{container}"'
            raise ConfigError(message, "CreateContainerConfigError") from None
    path = posixpath.normpath(posixpath.join("/", volume_mount["mountPath"]))
    return spec.Mount(
        path,
        posixpath.join(volume.path, inner) if inner else volume.path,
        bool(volume_mount.get("readOnly")) or volume.read_only,
        # Few pods need their service account, and isolation level "none" cannot mount it.
        optional=path == ACCOUNT,
        volume=volume.path if inner else "",
        host_path=volume.host_path,
    )


def _sub_path(volume_mount: Object, variables: Mapping[str, str]) -> str:
    inner = str(volume_mount.get("subPath") or "")
    if volume_mount.get("subPathExpr"):
        try:
            inner, missing = expansion.expand_completely(volume_mount["subPathExpr"], variables, PATH_MAX)
        except expansion.TooLong:
            message = f'subPathExpr of volumeMount "{volume_mount["name"]}" is longer than {PATH_MAX} characters'
            raise ConfigError(f"{message}, the limit of Linux for a path") from None
        if missing:
            raise ConfigError(f"missing value for {', '.join(missing)}")
    if inner.startswith("/"):
        raise ConfigError(f"error SubPath `{inner}` must not be an absolute path")
    if ".." in inner.split("/"):
        raise ConfigError(f"unable to provision SubPath `{inner}`: must not contain '..'")
    return inner
