"""Reads the sources of configMap, secret, downwardAPI and projected volumes."""

from __future__ import annotations

from typing import Any

from traincrew import errors
from traincrew.embedded.kubelet.environment.errors import ObjectNotFound
from traincrew.embedded.kubelet.objects.object_cache import ObjectSource
from traincrew.embedded.kubelet.objects.service_account_tokens import DEFAULT_LIFETIME, TokenRequest
from traincrew.embedded.kubelet.volumes import projected_files
from traincrew.embedded.kubelet.volumes.errors import VolumeSourceError, join_reasons
from traincrew.embedded.kubelet.volumes.pod_volumes import VolumeHost
from traincrew.embedded.kubelet.volumes.projected_files import Payload, ProjectedFile

Object = dict[str, Any]

KINDS = ("configMap", "secret", "downwardAPI", "projected")
TOKEN_MODE = 0o600


async def collect_payload(volume: Object, pod: Object, objects: ObjectSource, place: VolumeHost) -> Payload:
    """Raises Unfit with every reason there is."""
    kind = next(each for each in KINDS if each in volume)
    source = volume[kind] or {}
    mode = source.get("defaultMode", projected_files.MODE)
    sources = source.get("sources") or () if kind == "projected" else ({kind: source},)
    found: Payload = {}
    wrong = []
    for each in sources:
        try:
            found |= await _part(each, pod, objects, place, mode)
        except (VolumeSourceError, ObjectNotFound) as error:
            wrong.append(str(error))
        except errors.ApiError as error:
            wrong.append(error.message)
    if wrong:
        raise VolumeSourceError(join_reasons(wrong))
    return found


async def _part(source: Object, pod: Object, objects: ObjectSource, place: VolumeHost, mode: int) -> Payload:
    namespace = pod["metadata"]["namespace"]
    if (wanted := source.get("configMap")) is not None:
        return projected_files.config_map(wanted, await _config_map(wanted, namespace, objects), mode)
    if (wanted := source.get("secret")) is not None:
        return projected_files.secret(wanted, await _secret(wanted, namespace, objects), mode)
    if (wanted := source.get("downwardAPI")) is not None:
        return projected_files.downward(wanted, pod, place.allocatable, mode)
    if (wanted := source.get("serviceAccountToken")) is not None:
        return {wanted["path"]: await _token(wanted, pod, objects, mode)}
    raise VolumeSourceError(f"projections of {', '.join(source)} are not supported")


async def _config_map(wanted: Object, namespace: str, objects: ObjectSource) -> Object | None:
    try:
        return await objects.get_config_map(namespace, wanted.get("name") or "")
    except ObjectNotFound:
        if wanted.get("optional"):
            return None
        raise


async def _secret(wanted: Object, namespace: str, objects: ObjectSource) -> Object | None:
    try:
        return await objects.get_secret(namespace, wanted.get("secretName") or wanted.get("name") or "")
    except ObjectNotFound:
        if wanted.get("optional"):
            return None
        raise


async def _token(wanted: Object, pod: Object, objects: ObjectSource, mode: int) -> ProjectedFile:
    meta, spec = pod["metadata"], pod["spec"]
    ask = TokenRequest(
        meta["name"], meta["uid"], wanted.get("audience") or "", wanted.get("expirationSeconds") or DEFAULT_LIFETIME
    )
    try:
        text = await objects.get_service_account_token(meta["namespace"], spec.get("serviceAccountName") or "default", ask)
    except errors.ApiError as error:
        raise VolumeSourceError(f"failed to fetch token: {error.message}") from None
    user, group = only_user(spec), (spec.get("securityContext") or {}).get("fsGroup")
    return ProjectedFile(text.encode(), mode if user is None and group is None else TOKEN_MODE, user)


def only_user(spec: Object) -> int | None:
    """The user of all containers if they have the same: the token then belongs to that user."""
    general = (spec.get("securityContext") or {}).get("runAsUser")
    users = set()
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        own = (container.get("securityContext") or {}).get("runAsUser")
        users.add(general if own is None else own)
    (user, *others) = users
    return None if others else user
