"""Hostile trees and names in claims, local volumes and projected files: also with subPath and fsGroup."""

from __future__ import annotations

import pathlib

import pytest
from tests.cluster.api import Object, eventually
from tests.hostile import hostile_trees
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

from traincrew.embedded.file_trees import removal

CLAIMS = ("delete", "retain", "local")
SPACE = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
KEYS = ("-rf", ".hidden", "a..b", "x" * 253)
PATHS = ("\x1b[31m", "a\nb", " ", "*", "-rf", "é", "d/" * 1300 + "file", "x" * 255)
FS_GROUP = 4321


@pytest.fixture
def local(cluster: HostileCluster) -> pathlib.Path:
    path = cluster.home / "local"
    path.mkdir(exist_ok=True)
    path.chmod(0o777)
    return path


def create_claims(cluster: HostileCluster, local: pathlib.Path) -> None:
    claims: dict[str, Object] = {name: dict(SPACE) for name in CLAIMS}
    claims["local"] |= {"storageClassName": "", "volumeName": "local"}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]}]}}
    spec = {"accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"}, "storageClassName": "", "nodeAffinity": affinity}
    spec |= {"local": {"path": str(local)}, "persistentVolumeReclaimPolicy": "Retain"}
    spec |= {"claimRef": {"namespace": "default", "name": "local"}}
    cluster.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "local"}, "spec": spec})
    for name, each in claims.items():
        cluster.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": each})


def volumes() -> list[Object]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in CLAIMS]


def builder() -> Object:
    """Makes the trees in each claim, and in a subPath of each."""
    mounts = [{"name": name, "mountPath": f"/volumes/{name}"} for name in CLAIMS]
    mounts += [{"name": name, "mountPath": f"/parts/{name}", "subPath": "part"} for name in CLAIMS]
    paths = [each["mountPath"] for each in mounts]
    script = f"{hostile_trees.BUILD}\nfor path in {paths!r}:\n    os.chdir(path)\n    deep(), odd(), wide()\nprint('made')"
    return pod("builds", "python3", "-c", script, volumes=volumes(), volumeMounts=mounts)


def volume_of(cluster: HostileCluster, claim: str) -> str:
    return str(cluster.api.get("persistentvolumeclaims", "default", claim)["spec"]["volumeName"])


def test_trees_in_claims_do_not_stop_other_pods_and_are_removed_with_a_claim_that_is_deleted(
    cluster: HostileCluster, local: pathlib.Path
) -> None:
    create_claims(cluster, local)
    cluster.create(builder())
    assert cluster.ended("builds", within=120)["status"]["phase"] == "Succeeded", cluster.logs("builds")
    retained = volume_of(cluster, "retain")
    cluster.api.patch("persistentvolumes", "", retained, {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    mounts = [{"name": name, "mountPath": f"/v/{name}", "subPath": "part/closed"} for name in CLAIMS]
    count = "for name in delete retain local; do ls -A /v/$name | wc -l; done"
    cluster.create(pod("counts", "sh", "-c", count, volumes=volumes(), volumeMounts=mounts))
    grouped = pod("grouped", "true", volumes=volumes(), volumeMounts=[{**each, "subPath": ""} for each in mounts])
    grouped["spec"]["securityContext"] = {"fsGroup": FS_GROUP}
    cluster.create(grouped)
    assert cluster.ended("counts")["status"]["phase"] == "Succeeded", cluster.events("counts")
    assert cluster.ended("grouped", within=120)["status"]["phase"] == "Succeeded", cluster.events("grouped")
    directories = {name: cluster.data / "volumes" / volume_of(cluster, name) for name in ("delete", "retain")}
    for name in ("builds", "counts", "grouped"):
        cluster.api.delete("pods", "default", name, grace=0)
        cluster.gone(name)
    for name in CLAIMS:
        cluster.api.delete("persistentvolumeclaims", "default", name)
    eventually(lambda: not directories["delete"].exists(), 60)
    assert directories["retain"].exists()
    assert (local / "wide").is_dir()
    cluster.api.delete("persistentvolumes", "", retained)
    removal.remove_tree(directories["retain"])  # the administrator's part
    removal.remove_tree(local)


@pytest.mark.parametrize("kind", ["configMap", "secret", "projected", "downwardAPI"])
@pytest.mark.parametrize("group", [None, FS_GROUP], ids=["no group", "group"])
def test_projected_files_of_hostile_names_are_shown_and_removed(cluster: HostileCluster, kind: str, group: int | None) -> None:
    cluster.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hostile"}, "data": dict.fromkeys(KEYS, "text")},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hostile"}, "stringData": dict.fromkeys(KEYS, "text")},
    )
    try:
        items = [{"key": KEYS[0], "path": path} for path in PATHS]
        fields = [{"path": path, "fieldRef": {"fieldPath": "metadata.name"}} for path in PATHS]
        sources: dict[str, Object] = {
            "configMap": {"configMap": {"name": "hostile"}},
            "secret": {"secret": {"secretName": "hostile"}},
            "projected": {"projected": {"sources": [{"configMap": {"name": "hostile", "items": items}}]}},
            "downwardAPI": {"downwardAPI": {"items": fields}},
        }
        names = KEYS if kind in ("configMap", "secret") else PATHS
        script = f"import os\nprint(all(os.path.isfile('/v/' + name) for name in {names!r}))"
        made = pod("shows", "python3", "-c", script, volumes=[{"name": "v", **sources[kind]}],
                   volumeMounts=[{"name": "v", "mountPath": "/v"}])  # fmt: skip
        if group is not None:
            made["spec"]["securityContext"] = {"fsGroup": group}
        cluster.create(made)
        assert cluster.ended("shows")["status"]["phase"] == "Succeeded", cluster.events("shows")
        assert cluster.logs("shows") == "True\n"
    finally:
        for plural in ("configmaps", "secrets"):
            cluster.api.delete(plural, "default", "hostile")
