"""The check for leftovers recognizes everything that a running cluster and a running pod use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from tests.hostile import host_network
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

from traincrew.embedded.kubelet.network import egress


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
        for kind in ("interface ", "nf_tables table "):
            assert any(each.startswith(kind) for each in whole), (kind, whole)


def test_directories_of_volumes_and_of_pods_that_could_not_be_removed_are_recognized(cluster: HostileCluster) -> None:
    cluster.create(pod("short", "true"))
    uid = cluster.ended("short")["metadata"]["uid"]
    cluster.footprint.record()
    for path in (cluster.data / "volumes/left", cluster.data / "node/unremoved" / uid):
        path.mkdir(parents=True)
        assert f"file {path}" in cluster.footprint.of_pods()
        path.rmdir()
        assert f"file {path}" not in cluster.footprint.of_pods()


@pytest.mark.parametrize(
    ("before", "now", "marked", "links", "found"),
    [
        pytest.param("0", "0", False, ["lo"], 0, id="as before"),
        pytest.param("1", "1", False, ["lo"], 0, id="the machine forwards packets"),
        pytest.param("0", "1", True, ["lo", egress.link_name("1")], 0, id="another cluster needs it"),
        pytest.param("0", "1", False, ["lo"], 1, id="the setting is left"),
        pytest.param("0", "0", True, ["lo"], 1, id="the file is left"),
    ],
)
def test_the_setting_that_forwards_packets_is_recognized(
    before: str, now: str, marked: bool, links: list[str], found: int
) -> None:
    assert len(list(host_network.forwarding_left(before, now, marked, links))) == found


FIREWALL = """import pathlib, subprocess, sys, zlib
from tests.hostile import host_network
data = pathlib.Path("/data")
mark = f"traincrew-{zlib.crc32(b'/data/node'):08x}"
rule = ["iptables", "-I", "FORWARD", "-i", "lo", "-m", "comment", "--comment", mark, "-j", "ACCEPT"]
subprocess.run(rule, check=True)
before = host_network.forwarding_of_the_machine()
pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("0" if before == "1" else "1")
host_network._marker().touch()
try:
    print(*host_network.left_by(data, before), sep="\\n")
finally:
    host_network._marker().unlink()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="changes rules of a network namespace")
def test_rules_settings_and_files_of_the_host_network_are_recognized() -> None:
    """In a network namespace of the test's own."""
    if shutil.which("iptables") is None:
        pytest.skip("iptables is not installed")
    done = subprocess.run(["unshare", "-n", sys.executable, "-c", FIREWALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kinds = sorted(line.split(" /")[0].split(" -")[0].split(" is ")[0] for line in done.stdout.splitlines())
    assert kinds == ["file", "iptables rule", "net.ipv4.ip_forward"], done.stdout
