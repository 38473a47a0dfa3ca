"""The volumes of a pod on their way from the API server to its directory and back."""

from __future__ import annotations

import asyncio
import pathlib

from tests.embedded.controllers import in_process_cluster
from tests.embedded.kubelet.volumes.pods import remove

from traincrew.embedded.kubelet.objects.object_cache import ObjectCache
from traincrew.embedded.kubelet.pods.event_recorder import PodEventRecorder
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.pods.volume_mounts import VolumeMounts
from traincrew.embedded.kubelet.volumes.pod_volumes import VolumeHost
from traincrew.model.resources import CONFIG_MAPS, PODS

POD = {
    "metadata": {"name": "train"},
    "spec": {
        "automountServiceAccountToken": False,
        "containers": [{"name": "main", "image": "train:1"}],
        "volumes": [{"name": "settings", "configMap": {"name": "settings"}}],
    },
}


def watches() -> list[str]:
    return [name for task in asyncio.all_tasks() if (name := task.get_name()).startswith("watch ")]


async def test_a_change_during_the_removal_of_a_pod_does_not_watch_its_objects_again(tmp_path: pathlib.Path) -> None:
    async with in_process_cluster.cluster(tmp_path / "data") as cluster:
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "settings"}, "data": {"rate": "0.1"}})
        pod = await cluster.create(PODS, POD)
        objects, recorder = ObjectCache(cluster.client, lambda uid: None), PodEventRecorder(cluster.client, "node")
        mounts = VolumeMounts(PodStateDirectory(tmp_path / "pod"), objects, recorder, lambda each: VolumeHost(each.path), remove)
        await mounts.mount(pod)
        assert (tmp_path / "pod/volumes/settings/rate").read_text() == "0.1"
        assert watches() == ["watch configmaps default/settings"]
        await mounts.unmount(pod)
        await remove(tmp_path / "pod")
        await mounts.refresh(pod)
        await asyncio.sleep(0)  # a cancelled task ends
        assert watches() == []
        assert not (tmp_path / "pod").exists()
