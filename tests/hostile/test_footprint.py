"""The check for leftovers recognizes everything that a running cluster and a running pod use."""

from __future__ import annotations

from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod


def test_what_a_running_pod_uses_is_recognized_and_is_gone_after_its_deletion(cluster: HostileCluster) -> None:
    memory = {"volumes": [{"name": "memory", "emptyDir": {"medium": "Memory"}}]}
    cluster.create(pod("lasting", "sleep", "600", volumeMounts=[{"name": "memory", "mountPath": "/memory"}], **memory))
    uid = cluster.running("lasting")["metadata"]["uid"]
    cluster.footprint.record()
    found = cluster.footprint.of_pods()
    for kind in ("process", "socket", "file") + (("mount", "cgroup") if cluster.level == "root" else ()):
        assert any(each.startswith(f"{kind} ") and uid in each for each in found), (kind, found)
    whole = cluster.footprint.of_cluster()
    assert any(each.startswith("network namespace ") for each in whole), whole
    if cluster.level == "root":
        assert any(each.startswith("interface ") for each in whole), whole
