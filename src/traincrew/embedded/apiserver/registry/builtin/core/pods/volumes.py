"""Volumes of pods."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation, quantities
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import persistent_volume_claims
from traincrew.embedded.apiserver.registry.builtin.core.pods import env_vars, mounts

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_ORDER = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi", "glusterfs",
    "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc", "flexVolume", "configMap",
    "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO",
    "csi", "ephemeral", "image",
)  # fmt: skip
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}
_REQUIRED = {
    "gitRepo": ("repository",), "persistentVolumeClaim": ("claimName",), "awsElasticBlockStore": ("volumeID",),
    "gcePersistentDisk": ("pdName",), "cinder": ("volumeID",), "csi": ("driver",), "flexVolume": ("driver",),
    "cephfs": ("monitors",), "rbd": ("monitors", "image"), "glusterfs": ("endpoints", "path"),
}  # fmt: skip


def token_source() -> Object:
    """The volume that the API server gives to every pod with a service account."""
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
    }


_TOKEN = token_source()


def check(volumes: list[Object], pod: str, path: str, errors: list[FieldError]) -> mounts.Volumes:
    """The valid volumes, by name."""
    valid: mounts.Volumes = {}
    ephemeral_claims = {f"{pod}-{volume.get('name')}" for volume in volumes if "ephemeral" in volume} if pod else set()
    for index, volume in enumerate(volumes):
        volume_errors: list[FieldError] = []
        name = volume.get("name") or ""
        check_source(volume, f"{path}[{index}]", volume_errors)
        if not name:
            volume_errors.append(field_errors.required(f"{path}[{index}].name"))
        else:
            volume_errors += [
                field_errors.invalid(f"{path}[{index}].name", name, error) for error in name_validation.dns_label(name)
            ]
        if name in valid:
            volume_errors.append(field_errors.duplicate(f"{path}[{index}].name", name))
        if volume_errors:
            errors += volume_errors
        else:
            valid[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in ephemeral_claims:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(field_errors.invalid(f"{path}[{index}].persistentVolumeClaim.claimName", claim, detail))
    return valid


def check_source(volume: Object, path: str, errors: list[FieldError]) -> None:
    kinds = [kind for kind in volume if kind in _RANK]
    if len(kinds) > 1:
        kinds.sort(key=_RANK.__getitem__)
    if not kinds:
        errors.append(field_errors.required(path, "must specify a volume type"))
        return
    _check_kind(kinds[0], volume[kinds[0]], f"{path}.{kinds[0]}", errors)
    for kind in kinds[1:]:
        errors.append(field_errors.forbidden(f"{path}.{kind}", "may not specify more than 1 volume type"))


def _check_kind(kind: str, source: Object, path: str, errors: list[FieldError]) -> None:
    if kind == "emptyDir":
        if source.get("sizeLimit") is not None and quantities.nanos(source["sizeLimit"]) < 0:
            errors.append(field_errors.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity"))
    elif kind == "hostPath":
        check_host_path(source, path, errors)
    elif kind in ("secret", "configMap"):
        _check_keys(source, "secretName" if kind == "secret" else "name", path, errors)
    elif kind == "nfs":
        check_nfs(source, path, errors)
    elif kind == "downwardAPI":
        _check_mode(source.get("defaultMode"), f"{path}.defaultMode", errors)
        for file in source.get("items") or ():
            _check_file(file, path, errors)
    elif kind == "projected" and source != _TOKEN:
        _check_mode(source.get("defaultMode"), f"{path}.defaultMode", errors)
        _Projection(path, errors).check(source.get("sources") or [])
    elif kind == "ephemeral":
        _check_ephemeral(source, path, errors)
    elif kind != "projected":
        check_required(kind, source, path, errors)


def check_required(kind: str, source: Object, path: str, errors: list[FieldError]) -> None:
    errors += [field_errors.required(f"{path}.{field}") for field in _REQUIRED.get(kind, ()) if not source.get(field)]


def check_host_path(source: Object, path: str, errors: list[FieldError]) -> None:
    where = source.get("path") or ""
    if not where:
        errors.append(field_errors.required(f"{path}.path"))
    mounts.check_no_parent_references(where, f"{path}.path", errors)
    if (kind := source.get("type")) is not None and kind not in _HOST_PATH_TYPES:
        errors.append(field_errors.not_supported(f"{path}.type", kind, _HOST_PATH_TYPES))


def check_nfs(source: Object, path: str, errors: list[FieldError]) -> None:
    where = source.get("path") or ""
    if not source.get("server"):
        errors.append(field_errors.required(f"{path}.server"))
    if not where:
        errors.append(field_errors.required(f"{path}.path"))
    if not where.startswith("/"):
        errors.append(field_errors.invalid(f"{path}.path", where, "must be an absolute path"))


def _check_mode(mode: int | None, path: str, errors: list[FieldError]) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        errors.append(field_errors.invalid(path, mode, _MODE))


def _check_keys(source: Object, name: str, path: str, errors: list[FieldError]) -> None:
    if not source.get(name):
        errors.append(field_errors.required(f"{path}.{name}"))
    _check_mode(source.get("defaultMode"), f"{path}.defaultMode", errors)
    for index, item in enumerate(source.get("items") or ()):
        _check_item(item, f"{path}.items[{index}]", errors)


def _check_item(item: Object, path: str, errors: list[FieldError]) -> None:
    if not item.get("key"):
        errors.append(field_errors.required(f"{path}.key"))
    if not item.get("path"):
        errors.append(field_errors.required(f"{path}.path"))
    mounts.check_not_reserved(item.get("path") or "", f"{path}.path", errors)
    _check_mode(item.get("mode"), f"{path}.mode", errors)


def _check_file(file: Object, path: str, errors: list[FieldError]) -> None:
    if not file.get("path"):
        errors.append(field_errors.required(f"{path}.path"))
    mounts.check_not_reserved(file.get("path") or "", f"{path}.path", errors)
    if "fieldRef" in file:
        env_vars.check_field(file["fieldRef"], env_vars.VOLUME_FIELDS, f"{path}.fieldRef", errors)
        if "resourceFieldRef" in file:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(field_errors.invalid(path, "resource", detail))
    elif "resourceFieldRef" in file:
        env_vars.check_resource(file["resourceFieldRef"], f"{path}.resourceFieldRef", errors, in_volume=True)
    else:
        errors.append(field_errors.required(path, "one of fieldRef and resourceFieldRef is required"))
    _check_mode(file.get("mode"), f"{path}.mode", errors)


def _check_ephemeral(source: Object, path: str, errors: list[FieldError]) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        errors.append(field_errors.required(f"{path}.volumeClaimTemplate"))
    else:
        persistent_volume_claims.check_template(template, f"{path}.volumeClaimTemplate", errors)


class _Projection:
    """Projected volumes: several sources whose file paths must not conflict."""

    def __init__(self, path: str, errors: list[FieldError]) -> None:
        self.path, self.errors = path, errors
        self.taken: set[str] = set()

    def check(self, sources: list[Object]) -> None:
        for index, source in enumerate(sources):
            at = f"{self.path}.sources[{index}]"
            for kind in ("secret", "configMap"):
                if kind in source:
                    self._check_keys(source[kind], f"{at}.{kind}")
            for file in (source.get("downwardAPI") or {}).get("items") or ():
                _check_file(file, f"{at}.downwardAPI", self.errors)
                self._take(file.get("path") or "", file.get("path") or "")
            if "serviceAccountToken" in source:
                self._check_token(source["serviceAccountToken"], f"{at}.serviceAccountToken")
            if sum(kind in source for kind in ("secret", "configMap", "downwardAPI", "serviceAccountToken")) > 1:
                self.errors.append(field_errors.forbidden(at, "may not specify more than 1 volume type per source"))

    def _check_keys(self, source: Object, at: str) -> None:
        if not source.get("name"):
            self.errors.append(field_errors.required(f"{at}.name"))
        for index, item in enumerate(source.get("items") or ()):
            _check_item(item, f"{at}.items[{index}]", self.errors)
            self._take(item.get("path") or "", source.get("name") or "")

    def _take(self, where: str, message: str) -> None:
        if where and where in self.taken:
            self.errors.append(field_errors.invalid(self.path, message, "conflicting duplicate paths"))
        self.taken.add(where)

    def _check_token(self, source: Object, at: str) -> None:
        seconds = source.get("expirationSeconds") or 0
        if seconds < 600:
            detail = "may not specify a duration less than 10 minutes"
            self.errors.append(field_errors.invalid(f"{at}.expirationSeconds", seconds, detail))
        if seconds > 1 << 32:
            detail = "may not specify a duration larger than 2^32 seconds"
            self.errors.append(field_errors.invalid(f"{at}.expirationSeconds", seconds, detail))
        if not source.get("path"):
            self.errors.append(field_errors.required(f"{self.path}.path"))
        else:
            mounts.check_not_reserved(source["path"], f"{self.path}.path", self.errors)
