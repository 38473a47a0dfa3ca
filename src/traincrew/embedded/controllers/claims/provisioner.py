"""The local provisioner: creates volumes for claims, as directories of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import Awaitable, Callable

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.client.lister import Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.claims import storage_objects
from traincrew.embedded.controllers.event_recorder import NORMAL, WARNING, ControllerEventRecorder
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.reconcile_loop import NamespacedName
from traincrew.embedded.file_trees import removal
from traincrew.model.resources import STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from traincrew.serving import background_tasks

NAME = "traincrew.kubeflow.org/local"
CLASS = "standard"
WORLD_WRITABLE = 0o777
"""Mode of the directories: pods run as different users."""
Remove = Callable[[pathlib.Path], Awaitable[None]]
"""Removes the directory of a volume, with the files of all users. Raises OSError."""


class LocalProvisioner:
    def __init__(self, client: interfaces.Client, informers: SharedInformers, root: pathlib.Path, remove: Remove) -> None:
        self._client, self._root, self._remove = client, root, remove
        self._claims, self._volumes, self._classes = (
            informers.lister(VOLUME_CLAIMS),
            informers.lister(VOLUMES),
            informers.lister(STORAGE_CLASSES),
        )
        self._recorder = ControllerEventRecorder(client, NAME)
        self._claim_queue: WorkQueue[NamespacedName] = WorkQueue()
        self._volume_queue: WorkQueue[NamespacedName] = WorkQueue()
        self._claims.listeners.append(self._claim_changed)
        self._volumes.listeners.append(self._volume_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(background_tasks.keep_running("local-storage-class", self._ensure_storage_class))
            group.create_task(self._recorder.run())
            group.create_task(reconcile_loop.run("provisioning", self._claim_queue, self._provision))
            group.create_task(reconcile_loop.run("reclaiming", self._volume_queue, self._reclaim))

    async def _ensure_storage_class(self) -> None:
        """Creates our storage class unless another is the default already. Raises ApiError."""
        if storage_objects.default_class(stored.body for stored in self._classes) is not None:
            return
        with contextlib.suppress(errors.AlreadyExists):  # it is used as it is
            await self._client.create(STORAGE_CLASSES, None, msgspec.json.encode(storage_class()))

    def _claim_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if new is not None:
            self._claim_queue.add((new.metadata.namespace, new.metadata.name))

    def _volume_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if new is not None:
            self._volume_queue.add(("", new.metadata.name))

    async def _provision(self, key: NamespacedName) -> None:
        stored = self._claims.get(*key)
        if stored is None or not is_awaiting_volume(stored.body) or self._volumes.get("", volume_name(stored.body)) is not None:
            return
        claim = stored.body
        storage_class = self._classes.get("", storage_objects.class_of(claim) or "")
        if storage_class is None:
            return
        message = f'External provisioner is provisioning volume for claim "{key[0]}/{key[1]}"'
        self._recorder.event(VOLUME_CLAIMS, claim, NORMAL, "Provisioning", message)
        volume = build_volume(claim, storage_class.body, self._root)
        try:
            await asyncio.to_thread(_open_directory, pathlib.Path(volume["spec"]["hostPath"]["path"]))
        except OSError as error:
            message = f'failed to provision volume with StorageClass "{storage_class.metadata.name}": {error}'
            self._recorder.event(VOLUME_CLAIMS, claim, WARNING, "ProvisioningFailed", message)
            raise
        try:
            self._volumes.apply_response(await self._client.create(VOLUMES, None, msgspec.json.encode(volume)))
        except errors.AlreadyExists:
            return
        name = volume["metadata"]["name"]
        self._recorder.event(VOLUME_CLAIMS, claim, NORMAL, "ProvisioningSucceeded", f"Successfully provisioned volume {name}")

    async def _reclaim(self, key: NamespacedName) -> None:
        stored = self._volumes.get(*key)
        if stored is None or not to_be_deleted(stored.body):
            return
        path = pathlib.Path(stored.body["spec"]["hostPath"]["path"])
        if path.parent != self._root:
            message = f"{path} is not below {self._root}, where this provisioner makes volumes"
            self._recorder.event(VOLUMES, stored.body, WARNING, "VolumeFailedDelete", message)
            return
        try:
            await self._remove(path)
        except OSError as error:
            self._recorder.event(VOLUMES, stored.body, WARNING, "VolumeFailedDelete", str(error))
            raise
        response = await self._client.delete(VOLUMES, None, stored.metadata.name, uid=stored.metadata.uid)
        self._volumes.apply_delete_response(stored, response)


def storage_class() -> Object:
    return {
        "apiVersion": STORAGE_CLASSES.api_version, "kind": STORAGE_CLASSES.kind,
        "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": NAME, "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate",
    }  # fmt: skip


def is_awaiting_volume(claim: Object) -> bool:
    """Whether the claim waits for a volume of this provisioner."""
    unbound = not claim["spec"].get("volumeName") and "deletionTimestamp" not in claim["metadata"]
    return unbound and storage_objects.annotations_of(claim).get(storage_objects.PROVISIONERS[1]) == NAME


def volume_name(claim: Object) -> str:
    return f"pvc-{claim['metadata']['uid']}"


def build_volume(claim: Object, storage_class: Object, root: pathlib.PurePath) -> Object:
    meta, spec, name = claim["metadata"], claim["spec"], volume_name(claim)
    claim_ref = {
        "kind": VOLUME_CLAIMS.kind, "apiVersion": VOLUME_CLAIMS.api_version, "namespace": meta["namespace"], "name": meta["name"],
        "uid": meta["uid"], "resourceVersion": meta["resourceVersion"],
    }  # fmt: skip
    return {
        "apiVersion": "v1", "kind": VOLUMES.kind,
        "metadata": {"name": name, "annotations": {storage_objects.PROVISIONED: NAME}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]}, "accessModes": spec["accessModes"],
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "storageClassName": storage_class["metadata"]["name"], "volumeMode": spec.get("volumeMode", "Filesystem"),
            "hostPath": {"path": str(root / name), "type": "Directory"}, "claimRef": claim_ref,
        },
    }  # fmt: skip


def to_be_deleted(volume: Object) -> bool:
    ours = storage_objects.annotations_of(volume).get(storage_objects.PROVISIONED) == NAME and "hostPath" in volume["spec"]
    policy = volume["spec"].get("persistentVolumeReclaimPolicy")
    gone = "deletionTimestamp" in volume["metadata"]
    return ours and policy == "Delete" and storage_objects.phase(volume) in ("Released", "Failed") and not gone


def _open_directory(path: pathlib.Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(WORLD_WRITABLE)


async def remove_in_thread(path: pathlib.Path) -> None:
    """For a control plane without a node, on which no pod writes. A symbolic link is removed, but not its target."""
    await asyncio.to_thread(removal.remove_tree, path)
