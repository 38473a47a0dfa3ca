"""A Kubernetes cluster of one node: control plane, containerd, kubelet, kube-proxy, and a DNS server of the tests.

It runs in the namespaces of `tests.kubelet.run`, which have no way out: every image was imported before.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

from tests.cluster.api import Api, eventually
from tests.kubelet import images
from tests.kubelet.run import CGROUP, WORK
from tools.image import oci
from tools.kube import build, cluster, control_plane
from tools.kube.process import Process

TOP = pathlib.Path(__file__).parents[2]
NAME, ADDRESS = "real", "10.99.0.1"
PODS, CNI_PROGRAMS = "10.244.0.0/16", "/usr/lib/cni"
_APISERVER = (
    "--bind-address=0.0.0.0",
    f"--advertise-address={ADDRESS}",
    "--endpoint-reconciler-type=lease",
    "--kubelet-preferred-address-types=InternalIP",
    "--default-not-ready-toleration-seconds=5",
    "--default-unreachable-toleration-seconds=5",
)
_CONTROLLERS = ("--node-monitor-period=1s", "--node-monitor-grace-period=12s", "--controllers=*")


class KubernetesNode:
    def __init__(self) -> None:
        self.work = pathlib.Path(os.environ[WORK])
        self._processes: dict[str, Process] = {}
        _create_network()
        disabled = control_plane.Options(disabled_admission=(), flags=_APISERVER, parent=self.work)
        self.kube = cluster.start(disabled)
        self.kube.start_controller_manager(*_CONTROLLERS)
        self.kube.start_scheduler()
        self.api = Api(self.kube.kubeconfig)

    def start(self) -> None:
        self._write_settings()
        self.start_containerd()
        for archive in map(images.archive, (images.WORKLOAD, images.PAUSE, images.DEBUGGER)):
            self.ctr("images", "import", str(archive))
        self.start_kubelet()
        self._start(
            "kube-proxy", build.program("kube-proxy"), f"--config={self.work / 'kube-proxy.json'}", f"--hostname-override={NAME}"
        )
        # Started in the directory of the logs: the modules are found by PYTHONPATH.
        dns = (sys.executable, "-m", "tests.kubelet.dns_server", self.kube.kubeconfig, ADDRESS)
        self._processes["dns"] = Process("dns", dns, self.work, {"PYTHONPATH": str(TOP)})
        eventually(self.is_ready, 120, self.last_lines("kubelet"))

    def _write_settings(self) -> None:
        kubelet = self.kube.user_kubeconfig(f"system:node:{NAME}", "system:nodes")
        proxy = self.kube.user_kubeconfig("system:kube-proxy")
        resolv_conf = self.work / "resolv.conf"
        resolv_conf.write_text("")
        settings = {
            "kubelet": _kubelet_settings(self.work, str(self.kube.plane.authority.path), str(resolv_conf)),
            "kube-proxy": {
                "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
                "kind": "KubeProxyConfiguration",
                "mode": "iptables",
                "clusterCIDR": PODS,
                "clientConnection": {"kubeconfig": str(proxy)},
                "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
            },
        }
        for name, value in settings.items():
            (self.work / f"{name}.json").write_text(json.dumps(value))
        (self.work / "kubelet.kubeconfig").write_bytes(kubelet.read_bytes())
        (self.work / "containerd.toml").write_text(_containerd_settings(self.work))
        (self.work / "cni").mkdir(exist_ok=True)
        (self.work / "cni" / "10-bridge.conflist").write_text(json.dumps(_cni_settings(self.work)))

    def start_containerd(self) -> None:
        self._start("containerd", "containerd", "--config", self.work / "containerd.toml")
        eventually(lambda: self._ctr("version").returncode == 0, 60, self.last_lines("containerd"))

    def start_kubelet(self) -> None:
        self._start(
            "kubelet",
            build.program("kubelet"),
            f"--config={self.work / 'kubelet.json'}",
            f"--kubeconfig={self.work / 'kubelet.kubeconfig'}",
            f"--root-dir={self.work / 'kubelet'}",
            f"--cert-dir={self.work / 'kubelet-certificates'}",
            f"--hostname-override={NAME}",
            f"--node-ip={ADDRESS}",
        )

    def _start(self, name: str, *command: str | pathlib.Path) -> None:
        self._processes[name] = Process(name, command, self.work, {})

    def kill(self, name: str) -> None:
        """kill -9"""
        self._processes.pop(name).kill()

    def last_lines(self, name: str) -> str:
        return self._processes[name].last_lines(40)

    def is_ready(self) -> bool:
        for process in self._processes.values():
            assert process.alive(), process.last_lines(40)
        found = self.api.call("GET", "/api/v1/nodes")["items"]
        conditions = {each["type"]: each["status"] for node in found for each in node["status"].get("conditions", [])}
        return conditions.get("Ready") == "True" and not found[0]["spec"].get("taints")

    def ctr(self, *words: str) -> str:
        result = self._ctr(*words)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def _ctr(self, *words: str) -> subprocess.CompletedProcess[str]:
        address = f"--address={self.work / 'containerd.sock'}"
        return subprocess.run(["ctr", address, "--namespace=k8s.io", *words], capture_output=True, text=True, check=False)

    def kubectl(self, *words: str, input: str | None = None, check: bool = True) -> str:
        result = self.kube.kubectl(*words, input=input)
        assert not check or result.returncode == 0, f"kubectl {' '.join(words)}: {result.stderr}"
        return result.stdout

    def stop(self) -> None:
        """The namespaces end the rest."""
        for name in list(self._processes):
            self.kill(name)
        self.kube.stop()


def _create_network() -> None:
    for words in (
        "link set lo up",
        "link add node0 type veth peer name node1",
        f"address add {ADDRESS}/24 dev node0",
        "link set node0 up",
        "link set node1 up",
        "route add default dev node0",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    for name in ("net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables"):
        path = pathlib.Path("/proc/sys", name)
        if path.exists():
            path.write_text("1")
    # Mounts of volumes must not reach the host, and those of this namespace must reach the containers.
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "--make-rshared", "/"], check=True)


def _kubelet_settings(work: pathlib.Path, authority: str, resolv_conf: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}, "x509": {"clientCAFile": authority}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": os.environ[CGROUP],
        "clusterDNS": [ADDRESS],
        "clusterDomain": "cluster.local",
        "containerRuntimeEndpoint": f"unix://{work / 'containerd.sock'}",
        "failSwapOn": False,
        "podLogsDir": str(work / "pod-logs"),
        "resolvConf": resolv_conf,
        "nodeStatusUpdateFrequency": "2s",
        "evictionHard": {"memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
        "volumePluginDir": str(work / "volume-plugins"),
        "maxPods": 50,
    }


def _containerd_settings(work: pathlib.Path) -> str:
    return f"""version = 2
root = "{work}/containerd"
state = "{work}/containerd-state"
[grpc]
  address = "{work}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true # also where root may not lower it, as in a virtual machine without CAP_SYS_RESOURCE
  sandbox_image = "{oci.full_name(images.PAUSE)}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PROGRAMS}"
    conf_dir = "{work}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""


def _cni_settings(work: pathlib.Path) -> dict[str, Any]:
    addresses = {"type": "host-local", "dataDir": str(work / "cni-addresses"), "ranges": [[{"subnet": PODS}]]}
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True}
    routes = {"routes": [{"dst": "0.0.0.0/0"}]}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [{**bridge, "ipam": {**addresses, **routes}}, {"type": "portmap"}]}
