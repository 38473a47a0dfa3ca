"""Persistent volumes."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, name_validation, quantities
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.object_meta_validation import IMMUTABLE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin import go_diff
from traincrew.embedded.apiserver.registry.builtin.core import node_selectors, persistent_volume_claims
from traincrew.embedded.apiserver.registry.builtin.core.pods import defaults, mounts, volumes
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

_RECLAIM = ("Delete", "Recycle", "Retain")
_SOURCES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs", "iscsi",
    "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO",
    "local", "storageos", "csi",
)  # fmt: skip


def _default(obj: Object) -> None:
    obj["status"].setdefault("phase", "Pending")
    obj["spec"].setdefault("persistentVolumeReclaimPolicy", "Retain")
    obj["spec"].setdefault("volumeMode", "Filesystem")
    defaults.volume_source(obj["spec"])


def _prepare_create(obj: Object, context: WriteContext) -> None:
    obj["status"] = {"phase": "Pending"}
    if context.now:
        obj["status"]["lastPhaseTransitionTime"] = context.now
    obj["spec"].pop("volumeAttributesClassName", None)


def _prepare_status_update(new: Object, old: Object, context: WriteContext) -> None:
    before, kept = old.get("status") or {}, "lastPhaseTransitionTime"
    if new["status"].get("phase") == before.get("phase") and kept not in new["status"] and kept in before:
        new["status"][kept] = before[kept]
    elif (
        new["status"].get("phase") != before.get("phase") and new["status"].get(kept) in (None, before.get(kept)) and context.now
    ):
        new["status"][kept] = context.now


def _validate(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    modes, capacity = spec.get("accessModes") or [], spec.get("capacity") or {}
    if not modes:
        errors.append(field_errors.required("spec.accessModes"))
    persistent_volume_claims.check_modes(modes, "spec.accessModes", errors)
    if not capacity:
        errors.append(field_errors.required("spec.capacity"))
    if "storage" not in capacity or len(capacity) > 1:
        shown = "core.ResourceList(nil)" if not capacity else go_format.field_value(capacity)
        errors.append(
            FieldError(field_errors.NOT_SUPPORTED, "spec.capacity", f'Unsupported value: {shown}: supported values: "storage"')
        )
    for name, value in capacity.items():
        persistent_volume_claims.check_capacity(value, f"spec.capacity[{name}]", errors)
        if quantities.nanos(value) <= 0:
            errors.append(field_errors.invalid(f"spec.capacity[{name}]", value, "must be greater than zero"))
    _check_policy(spec, errors)
    _check_affinity(spec, errors)
    _check_source(spec, errors)
    if name := spec.get("storageClassName"):
        errors += [field_errors.invalid("spec.storageClassName", name, error) for error in name_validation.dns_subdomain(name)]
    if spec.get("volumeMode") not in persistent_volume_claims.VOLUME_MODES:
        errors.append(
            field_errors.not_supported("spec.volumeMode", spec.get("volumeMode"), persistent_volume_claims.VOLUME_MODES)
        )


def _check_policy(spec: Object, errors: Errors) -> None:
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy not in _RECLAIM:
        errors.append(field_errors.not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM))


def _check_affinity(spec: Object, errors: Errors) -> None:
    if "nodeAffinity" in spec:
        required = spec["nodeAffinity"].get("required")
        if required is None:
            errors.append(field_errors.required("spec.nodeAffinity.required", "must specify required node constraints"))
        else:
            node_selectors.check(required, "spec.nodeAffinity.required", errors)


def _check_source(spec: Object, errors: Errors) -> None:
    kinds = [kind for kind in _SOURCES if kind in spec]
    if not kinds:
        errors.append(field_errors.required("spec", "must specify a volume type"))
    for kind in kinds[1:]:
        errors.append(field_errors.forbidden(f"spec.{kind}", "may not specify more than 1 volume type"))
    for kind in kinds[:1]:
        source, at = spec[kind], f"spec.{kind}"
        if kind == "hostPath":
            volumes.check_host_path(source, at, errors)
            _check_recycled(spec, errors)
        elif kind == "nfs":
            volumes.check_nfs(source, at, errors)
        elif kind == "local":
            _check_local(source, "nodeAffinity" in spec, errors)
        else:
            volumes.check_required(kind, source, at, errors)


def _check_recycled(spec: Object, errors: Errors) -> None:
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle" and spec["hostPath"].get("path") == "/":
        at = "spec.persistentVolumeReclaimPolicy"
        errors.append(field_errors.forbidden(at, "may not be 'recycle' for a hostPath mount of '/'"))


def _check_local(source: Object, placed: bool, errors: Errors) -> None:
    if not source.get("path"):
        errors.append(field_errors.required("spec.local.path"))
    else:
        mounts.check_no_parent_references(source["path"], "spec.local.path", errors)
    if not placed:
        errors.append(field_errors.required("spec.nodeAffinity", "Local volume requires node affinity"))


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    after = {kind: value for kind, value in new["spec"].items() if kind in _SOURCES}
    before = {kind: value for kind, value in old["spec"].items() if kind in _SOURCES}
    if after != before:
        message = f"spec.persistentvolumesource is immutable after creation\n{go_diff.between(before, after)}"
        errors.append(field_errors.forbidden("spec.persistentvolumesource", message))
    if new["spec"].get("volumeMode") != old["spec"].get("volumeMode"):
        errors.append(field_errors.invalid("volumeMode", new["spec"].get("volumeMode"), IMMUTABLE))
    affinity = old["spec"].get("nodeAffinity")
    if affinity is not None and new["spec"].get("nodeAffinity") != affinity:
        message = f"{IMMUTABLE}, except for updating from beta label to GA"
        errors.append(field_errors.invalid("nodeAffinity", new["spec"].get("nodeAffinity"), message))


VOLUME = Strategy(
    kind="PersistentVolume",
    namespaced=False,
    has_status=True,
    defaults=_default,
    create_preparation=_prepare_create,
    status_preparation=_prepare_status_update,
    validation=_validate,
    update_validation=_validate_update,
    update_validation_steps=("whole", "whole", "compare"),
)
