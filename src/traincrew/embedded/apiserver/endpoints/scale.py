"""The scale subresource: reads and writes the number of replicas of an object as a Scale."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from traincrew.apimachinery import api_errors, field_errors, selectors
from traincrew.apimachinery.patches import json_patch, merge_patch
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.endpoints import patch, patch_bodies, request_bodies, version_conversion, write_path
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded
from traincrew.embedded.apiserver.schema import builtin_kinds, decoding


class Paths(NamedTuple):
    spec: tuple[str, ...]
    status: tuple[str, ...]
    selector: tuple[str, ...]


def paths(info: ResourceInfo) -> Paths:
    scale_paths: dict[str, str] = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    if info.definition is not None:
        named = (each for each in info.definition["spec"]["versions"] if each["name"] == info.version)
        scale_paths = next(named).get("subresources", {}).get("scale", scale_paths)
    split = {key: tuple(value.strip(".").split(".")) for key, value in scale_paths.items()}
    return Paths(split["specReplicasPath"], split["statusReplicasPath"], split.get("labelSelectorPath", ()))


def scale_of(obj: Object, info: ResourceInfo) -> Object:
    where, meta = paths(info), obj["metadata"]
    kept = {key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp") if key in meta}
    replicas = _value(obj, where.spec)
    if replicas is None and info.definition is not None:
        raise api_errors.internal_error(f'the spec replicas field ".{".".join(where.spec)}" does not exist')
    status: Object = {"replicas": _value(obj, where.status) or 0}
    if selector := _selector(obj, info, where):
        status["selector"] = selector
    spec = {"replicas": replicas} if replicas else {}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": kept, "spec": spec, "status": status}


def _selector(obj: Object, info: ResourceInfo, where: Paths) -> str:
    if info.definition is not None:
        return str(_value(obj, where.selector) or "") if where.selector else ""
    labels = obj.get("spec", {}).get("selector") or {}
    if info.kind != "ReplicationController":
        labels = labels.get("matchLabels") or {}
    return selectors.format_labels(labels)


def _value(obj: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


def _set(obj: Object, path: tuple[str, ...], value: int) -> None:
    for part in path[:-1]:
        obj = obj.setdefault(part, {})
    obj[path[-1]] = value


def get(scope: RequestScope, request: ApiRequest) -> Response:
    record = scope.existing(request.info, request.namespace, request.name)
    return Response(200, encoded(scale_of(version_conversion.decoded_object(record, request.info), request.info)))


async def write(scope: RequestScope, request: ApiRequest) -> Response:
    put = request.verb == "update"
    options = query_parameters.write_options(request.query, "UpdateOptions" if put else "PatchOptions", request.agent)
    parent = request._replace(subresource="")

    async def transform(before: Object) -> write_path.UpdatedObject:
        scale = request_bodies.scale(request) if put else _patched(request, scale_of(before, request.info), options.validation)
        replicas = _validated_replicas(request, scale)
        _set(before, paths(request.info).spec, replicas)
        if version := (scale.get("metadata") or {}).get("resourceVersion"):
            before["metadata"]["resourceVersion"] = version
        return write_path.UpdatedObject(before, subresource="scale")

    response = await write_path.update(scope, parent, options, transform)
    shown = version_conversion.with_type_meta(msgspec.json.decode(response.body), request.info)
    return Response(response.code, encoded(scale_of(shown, request.info)), response.warnings)


def _patched(request: ApiRequest, current: Object, validation: str) -> Object:
    kind = request.content_type.partition(";")[0].strip().lower()
    content, twice = patch_bodies.read(request)
    after: Object = json_patch.apply(current, content) if kind == patch.JSON else merge_patch.apply(current, content)
    form = patch_bodies.ObjectDecoder(
        builtin_kinds.load().schema("autoscaling", "v1", "Scale"), decoding.Expected("Scale", "autoscaling/v1")
    )
    return patch_bodies.decode(patch_bodies.PatchedObject(after, twice), form, validation)[0]


def _validated_replicas(request: ApiRequest, scale: Object) -> int:
    """Returns the replicas. The schema of a custom resource has its own rules."""
    replicas = int((scale.get("spec") or {}).get("replicas") or 0)
    if replicas < 0 and request.info.definition is None:
        error = field_errors.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise api_errors.invalid("Scale", "autoscaling", request.name, [error])
    return replicas
