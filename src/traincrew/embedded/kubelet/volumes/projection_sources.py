"""Reads the sources of configMap, secret, downwardAPI and projected volumes."""

from __future__ import annotations

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.envvars.errors import ObjectNotFound
from traincrew.embedded.kubelet.objects.object_cache import ObjectSource
from traincrew.embedded.kubelet.objects.service_account_tokens import DEFAULT_LIFETIME, TokenRequest
from traincrew.embedded.kubelet.volumes import projected_files
from traincrew.embedded.kubelet.volumes.errors import VolumeSourceError, join_reasons
from traincrew.embedded.kubelet.volumes.pod_volumes import VolumeHost
from traincrew.embedded.kubelet.volumes.projected_files import Payload, ProjectedFile

KINDS = ("configMap", "secret", "downwardAPI", "projected")
TOKEN_MODE = 0o600


async def collect_payload(volume: Object, pod: Object, objects: ObjectSource, host: VolumeHost) -> Payload:
    """Raises VolumeSourceError with all reasons."""
    kind = next(each for each in KINDS if each in volume)
    source = volume[kind] or {}
    mode = source.get("defaultMode", projected_files.MODE)
    sources = source.get("sources") or () if kind == "projected" else ({kind: source},)
    payload: Payload = {}
    wrong = []
    for each in sources:
        try:
            payload |= await _part(each, pod, objects, host, mode)
        except (VolumeSourceError, ObjectNotFound) as error:
            wrong.append(str(error))
        except errors.ApiError as error:
            wrong.append(error.message)
    if wrong:
        raise VolumeSourceError(join_reasons(wrong))
    return payload


async def _part(source: Object, pod: Object, objects: ObjectSource, host: VolumeHost, mode: int) -> Payload:
    namespace = pod["metadata"]["namespace"]
    if (projection := source.get("configMap")) is not None:
        return projected_files.config_map(projection, await _config_map(projection, namespace, objects), mode)
    if (projection := source.get("secret")) is not None:
        return projected_files.secret(projection, await _secret(projection, namespace, objects), mode)
    if (projection := source.get("downwardAPI")) is not None:
        return projected_files.downward(projection, pod, host.allocatable, mode)
    if (projection := source.get("serviceAccountToken")) is not None:
        return {projection["path"]: await _token(projection, pod, objects, mode)}
    raise VolumeSourceError(f"projections of {', '.join(source)} are not supported")


async def _config_map(projection: Object, namespace: str, objects: ObjectSource) -> Object | None:
    try:
        return await objects.get_config_map(namespace, projection.get("name") or "")
    except ObjectNotFound:
        if projection.get("optional"):
            return None
        raise


async def _secret(projection: Object, namespace: str, objects: ObjectSource) -> Object | None:
    try:
        return await objects.get_secret(namespace, projection.get("secretName") or projection.get("name") or "")
    except ObjectNotFound:
        if projection.get("optional"):
            return None
        raise


async def _token(projection: Object, pod: Object, objects: ObjectSource, mode: int) -> ProjectedFile:
    meta, spec = pod["metadata"], pod["spec"]
    ask = TokenRequest(
        meta["name"], meta["uid"], projection.get("audience") or "", projection.get("expirationSeconds") or DEFAULT_LIFETIME
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
