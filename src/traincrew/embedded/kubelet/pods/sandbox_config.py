"""The sandbox config of a pod: namespaces, limits, and the files in /etc of its containers."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

from traincrew.embedded.kubelet.lifecycle import resource_limits
from traincrew.embedded.kubelet.network import pod_files
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.embedded.kubelet.runtime import spec

ETC_FILES = ("hosts", "resolv.conf", "hostname")


@dataclasses.dataclass(frozen=True)
class SandboxConfigBuilder:
    domain: str
    """The DNS domain of the cluster."""
    data: pathlib.Path
    """The data directory, which pods must not see."""
    shm_bytes: int
    max_pids: int
    """Processes of a pod. 0: no limit."""

    def build(self, pod: dict[str, Any], directory: PodStateDirectory) -> spec.PodSandboxConfig:
        metadata, pod_spec = pod["metadata"], pod["spec"]
        context = pod_spec.get("securityContext") or {}
        return spec.PodSandboxConfig(
            uid=metadata["uid"], namespace=metadata["namespace"], name=metadata["name"],
            hostname=pod_files.kernel_hostname(pod, self.domain),
            directory=str(directory.path), domain=pod_files.subdomain(pod, self.domain),
            host_network=pod_spec.get("hostNetwork", False), host_pid=pod_spec.get("hostPID", False),
            host_ipc=pod_spec.get("hostIPC", False), share_processes=pod_spec.get("shareProcessNamespace", False),
            shm_bytes=self.shm_bytes, sysctls={each["name"]: each["value"] for each in context.get("sysctls", ())},
            cgroup=f"traincrew/{metadata['uid']}", masked=(str(self.data),),
            limits=resource_limits.of_pod(pod, self.max_pids),
        )  # fmt: skip

    def build_etc_files(self, pod: dict[str, Any], address: str, gateway: str) -> dict[str, str]:
        """hosts, resolv.conf and hostname. gateway: empty if the pod uses the resolver of the host."""
        host_resolver = pod_files.ResolvConf.parse(_read_host_file("/etc/resolv.conf"))
        return {
            "hosts": pod_files.hosts(pod, address, self.domain, _read_host_file("/etc/hosts")),
            "resolv.conf": pod_files.resolv_conf(pod, gateway, self.domain, host_resolver),
            "hostname": f"{pod_files.kernel_hostname(pod, self.domain)}\n",
        }


def etc_mounts(directory: PodStateDirectory) -> tuple[spec.Mount, ...]:
    return tuple(spec.Mount(f"/etc/{name}", str(directory.etc / name), optional=True) for name in ETC_FILES)


def _read_host_file(path: str) -> str:
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""
