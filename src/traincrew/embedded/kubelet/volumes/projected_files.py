"""The files of configMap, secret, downwardAPI and projected volumes, from their objects. PURE."""

from __future__ import annotations

import base64
import dataclasses
import posixpath
from collections.abc import Iterable, Mapping

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.envvars import downward_api
from traincrew.embedded.kubelet.volumes.errors import VolumeSourceError, join_reasons

MODE = 0o644
LONGEST_NAME, LONGEST_PATH = 255, 4096


@dataclasses.dataclass(frozen=True)
class ProjectedFile:
    data: bytes
    mode: int = MODE
    user: int | None = None
    """Owner; None: the writing user."""


Payload = dict[str, ProjectedFile]


def config_map(source: Object, config_map: Object | None, mode: int) -> Payload:
    texts, binaries = (config_map or {}).get("data") or {}, (config_map or {}).get("binaryData") or {}
    contents = {key: text.encode("utf-8", "surrogateescape") for key, text in texts.items()}
    contents |= {key: base64.b64decode(data) for key, data in binaries.items() if key not in contents}
    return _select(source, contents, mode, "configmap references non-existent config key: {}")


def secret(source: Object, secret: Object | None, mode: int) -> Payload:
    contents = {key: base64.b64decode(data or "") for key, data in ((secret or {}).get("data") or {}).items()}
    return _select(source, contents, mode, "references non-existent secret key: {}")


def _select(source: Object, contents: Mapping[str, bytes], mode: int, missing: str) -> Payload:
    if not source.get("items"):
        return {key: ProjectedFile(data, mode) for key, data in contents.items()}
    chosen = {}
    for item in source["items"]:
        if item["key"] in contents:
            chosen[item["path"]] = ProjectedFile(contents[item["key"]], item.get("mode", mode))
        elif not source.get("optional"):
            raise VolumeSourceError(missing.format(item["key"]))
    return chosen


def shown_fields(pod: Object) -> Object:
    """The fields that may change while the pod runs, if a volume shows any of them."""
    sources = [each for volume in pod["spec"].get("volumes") or () for each in _sources(volume)]
    items = [item for source in sources for item in (source.get("downwardAPI") or {}).get("items") or ()]
    paths = [(item.get("fieldRef") or {}).get("fieldPath", "") for item in items]
    names = [name for name in ("labels", "annotations") if any(path.startswith(f"metadata.{name}") for path in paths)]
    return {name: pod["metadata"].get(name) or {} for name in names}


def _sources(volume: Object) -> Iterable[Object]:
    return (volume.get("projected") or {}).get("sources") or () if "projected" in volume else (volume,)


def downward(source: Object, pod: Object, allocatable: Mapping[str, str], mode: int) -> Payload:
    payload: Payload = {}
    errors = []
    for item in source.get("items") or ():
        try:
            payload[posixpath.normpath(item["path"])] = ProjectedFile(
                _value(item, pod, allocatable).encode(), item.get("mode", mode)
            )
        except downward_api.UnsupportedField as error:
            errors.append(str(error))
    if errors:
        raise VolumeSourceError(join_reasons(errors))
    return payload


def _value(item: Object, pod: Object, allocatable: Mapping[str, str]) -> str:
    if reference := item.get("fieldRef"):
        return downward_api.metadata(pod, reference["fieldPath"])
    if reference := item.get("resourceFieldRef"):
        return downward_api.resource(pod, reference, reference.get("containerName", ""), allocatable)
    return ""


def validate_paths(payload: Payload) -> Payload:
    """Normalizes the paths. None may lead out of the volume or to entries of the AtomicWriter."""
    for path in payload:
        parts = path.split("/")
        if not path:
            raise VolumeSourceError('invalid path: must not be empty: ""')
        if path.startswith("/"):
            raise VolumeSourceError(f"invalid path: must be relative path: {path}")
        if "\0" in path:
            raise VolumeSourceError("invalid path: must not contain a zero byte")
        if len(path) > LONGEST_PATH:
            raise VolumeSourceError(f"invalid path: must be less than or equal to {LONGEST_PATH} characters")
        if ".." in parts:
            raise VolumeSourceError(f"invalid path: must not contain '..': {path}")
        if any(len(part.encode()) > LONGEST_NAME for part in parts):
            raise VolumeSourceError(f"invalid path: filenames must be less than or equal to {LONGEST_NAME} characters")
        if parts[0].startswith(".."):
            raise VolumeSourceError(f"invalid path: must not start with '..': {path}")
    return {posixpath.normpath(path): file for path, file in payload.items()}
