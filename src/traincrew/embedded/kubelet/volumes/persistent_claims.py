"""persistentVolumeClaim and ephemeral: the directory of a bound claim."""

from __future__ import annotations

import asyncio
import os
import pathlib
from typing import NamedTuple

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.objects.object_cache import ObjectSource
from traincrew.embedded.kubelet.volumes import host_path
from traincrew.embedded.kubelet.volumes.errors import (
    VolumeNotReady,
    VolumeSourceError,
    VolumeUnsupported,
    attach_failed,
    setup_failed,
)

GROUP = "pv.beta.kubernetes.io/gid"
_PATHS = ("hostPath", "local")
_NOT_SOURCES = ("capacity", "claimRef", "nodeAffinity")


class ClaimedVolume(NamedTuple):
    path: str
    group: int | None
    """Supplementary group with access to the volume."""
    managed: bool
    """Whether fsGroup applies to it."""


async def resolve_claim(volume: Object, pod: Object, objects: ObjectSource, data: pathlib.Path | None) -> ClaimedVolume:
    """data: the cluster's data directory. Raises VolumeError."""
    name, namespace = volume["name"], pod["metadata"]["namespace"]
    claim_name = _claim_name(volume, pod)
    try:
        claim = await _bound(namespace, claim_name, objects)
        if "ephemeral" in volume:
            _check_owner(claim, pod)
        volume_object = await _volume(claim, objects)
    except VolumeSourceError as error:
        raise VolumeNotReady(attach_failed(name, f"error processing PVC {namespace}/{claim_name}: {error}")) from None
    if (volume_object["spec"].get("volumeMode") or "Filesystem") != "Filesystem":
        raise VolumeUnsupported(attach_failed(name, f"volume {name} has volumeMode Block, but is specified in volumeMounts"))
    return await asyncio.to_thread(directory, volume_object, data)


def _claim_name(volume: Object, pod: Object) -> str:
    if "ephemeral" in volume:
        return f"{pod['metadata']['name']}-{volume['name']}"
    return str(volume["persistentVolumeClaim"]["claimName"])


async def _bound(namespace: str, name: str, objects: ObjectSource) -> Object:
    try:
        claim = await objects.get_claim(namespace, name)
    except errors.ApiError as error:
        raise VolumeSourceError(f"failed to fetch PVC from API server: {error.message}") from None
    if claim["metadata"].get("deletionTimestamp"):
        raise VolumeSourceError("PVC is being deleted")
    if (claim.get("status") or {}).get("phase") != "Bound":
        raise VolumeSourceError("PVC is not bound")
    if not claim["spec"].get("volumeName"):
        raise VolumeSourceError("PVC has empty pvc.Spec.VolumeName")
    return claim


def _check_owner(claim: Object, pod: Object) -> None:
    owners = claim["metadata"].get("ownerReferences") or ()
    if not any(owner.get("controller") and owner.get("uid") == pod["metadata"]["uid"] for owner in owners):
        meta, own = claim["metadata"], pod["metadata"]
        message = f"PVC {meta['namespace']}/{meta['name']} was not created for pod {own['namespace']}/{own['name']}"
        raise VolumeSourceError(f"{message} (pod is not owner)")


async def _volume(claim: Object, objects: ObjectSource) -> Object:
    name = claim["spec"]["volumeName"]
    try:
        volume = await objects.get_volume(name)
    except errors.ApiError as error:
        raise VolumeSourceError(f"failed to fetch PV {name} from API server: {error.message}") from None
    claim_ref = volume["spec"].get("claimRef")
    if not claim_ref:
        why = "it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"
        raise VolumeSourceError(f"found PV object {name} but {why}")
    if claim_ref.get("uid") != claim["metadata"]["uid"]:
        why = f"its pv.Spec.ClaimRef.UID {claim_ref.get('uid', '')} does not point to claim.UID {claim['metadata']['uid']}"
        raise VolumeSourceError(f"found PV object {name} but {why}")
    return volume


def directory(volume: Object, data: pathlib.Path | None) -> ClaimedVolume:
    """Raises VolumeError."""
    name, spec = volume["metadata"]["name"], volume["spec"]
    kind = next((each for each in _PATHS if each in spec), "")
    if not kind:
        other = ", ".join(sorted(key for key, value in spec.items() if isinstance(value, dict) and key not in _NOT_SOURCES))
        raise VolumeUnsupported(
            setup_failed(name, f"volumes of kind {other} are not supported. This node supports hostPath and local.")
        )
    try:
        path = _local(spec["local"]["path"]) if kind == "local" else host_path.resolve(spec["hostPath"], data, claimed=True)
    except VolumeSourceError as error:
        raise VolumeNotReady(setup_failed(name, error)) from None
    group = ((volume["metadata"].get("annotations") or {}).get(GROUP)) or ""
    return ClaimedVolume(path, int(group) if group.isdecimal() else None, kind == "local")


def _local(path: str) -> str:
    if not os.path.exists(path):
        raise VolumeSourceError(f'path "{path}" does not exist')
    if not os.path.isdir(path):
        raise VolumeSourceError("only directory and block device are supported")
    return path
