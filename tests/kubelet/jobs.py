"""Jobs of every kind for real containers. All of them comply with PodSecurity `restricted`."""

from __future__ import annotations

from typing import Any

from tests.cluster.api import Object, eventually
from tests.kubelet import images
from tests.kubelet.kubernetes_node import KubernetesNode

from traincrew.kinds import KINDS

NAMESPACE = "train"
LIMIT = 240.0
"""Seconds. Containers start slowly on a busy machine."""
_BY_NAME = {kind.kind: kind for kind in KINDS}
POD_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": images.USER,
    "runAsGroup": images.USER,
    "fsGroup": images.USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}

RENDEZVOUS = """
import json, os, socket, sys, time
env = os.environ
if "TF_CONFIG" in env:
    address, port = json.loads(env["TF_CONFIG"])["cluster"]["chief"][0].split(":")
elif "PADDLE_MASTER" in env or "PADDLE_SERVER_NUM" in env:
    address, port = env.get("PADDLE_MASTER", env["HOSTNAME"] + ":36543").split(":")
elif "COORDINATOR_ADDRESS" in env:
    address, port = env["COORDINATOR_ADDRESS"], env["COORDINATOR_PORT"]
else:
    address, port = env["MASTER_ADDR"], env["MASTER_PORT"]
others = int(sys.argv[1])
if env["HOSTNAME"] == address.split(".")[0] or not address[0].isalpha():
    server = socket.create_server(("", int(port)))
    peers = [server.accept()[0] for _ in range(others)]
    names = sorted(peer.recv(100).decode() for peer in peers)
    for peer in peers:
        peer.sendall(b"done")
    print("joined by", *names)
else:
    for _ in range(600):
        try:
            peer = socket.create_connection((address, int(port)), 5)
            break
        except OSError:
            time.sleep(0.1)
    peer.sendall(env["HOSTNAME"].encode())
    assert peer.recv(100) == b"done"
"""
"""The first replica listens at the address that the operator gives to all; the others connect to it. Argument: their number."""

UNTIL_FINISHED = "until [ -e /tmp/finish ]; do sleep 0.2; done"
"""A replica that runs until the test writes a file."""


def replicas(count: int, container: str, *command: str, restart: str = "Never", **more: Any) -> Object:
    main = {"name": container, "image": images.WORKLOAD, "command": list(command), "securityContext": SECURITY, **more}
    spec = {"securityContext": POD_SECURITY, "terminationGracePeriodSeconds": 1, "containers": [main]}
    return {"replicas": count, "restartPolicy": restart, "template": {"spec": spec}}


def job(kind: str, name: str, roles: Object, version: str = "v1", **spec: Any) -> Object:
    found = _BY_NAME[kind]
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {found.replicas_field: roles, "runPolicy": {"cleanPodPolicy": "None"}, **spec},
    }


class Jobs:
    """The jobs of one node, in a namespace that enforces `restricted`."""

    def __init__(self, node: KubernetesNode) -> None:
        self.node, self.api = node, node.api
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
        self.api.call("POST", "/api/v1/namespaces", body)
        eventually(lambda: self.api.find("serviceaccounts", NAMESPACE, "default"), 60)

    def create(self, body: Object) -> None:
        self.api.create(NAMESPACE, body)

    def status(self, kind: str, name: str) -> Object:
        found: Object = self.api.get(_BY_NAME[kind].plural, NAMESPACE, name).get("status") or {}
        return found

    def condition(self, kind: str, name: str, wanted: str) -> bool:
        conditions = self.status(kind, name).get("conditions") or []
        return any(each["type"] == wanted and each["status"] == "True" for each in conditions)

    def wait(self, kind: str, name: str, wanted: str) -> Object:
        def reached() -> bool:
            other = {"Succeeded": "Failed", "Failed": "Succeeded"}.get(wanted, "")
            assert not other or not self.condition(kind, name, other), self.explain(kind, name)
            return self.condition(kind, name, wanted)

        eventually(reached, LIMIT, f"{kind} {name} is not {wanted}")
        return self.status(kind, name)

    def explain(self, kind: str, name: str) -> str:
        lines = [str(self.status(kind, name))]
        for pod in self.pods(name):
            logs = self.node.kubectl("logs", "-n", NAMESPACE, pod, "--all-containers", "--tail=20", check=False)
            lines.append(f"--- {pod}: {self.pod(pod)['status'].get('phase')}\n{logs}")
        return "\n".join(lines)

    def pods(self, name: str) -> dict[str, str]:
        """The UIDs of the job's pods, by name."""
        found = self.api.all("pods", NAMESPACE, labels=f"training.kubeflow.org/job-name={name}")
        return {each["metadata"]["name"]: each["metadata"]["uid"] for each in found}

    def pod(self, name: str) -> Object:
        return self.api.get("pods", NAMESPACE, name)

    def running(self, *names: str) -> None:
        for name in names:
            eventually(lambda name=name: self._is_running(name), LIMIT, f"pod {name} is not running")  # type: ignore[misc]

    def _is_running(self, name: str) -> bool:
        found = self.api.find("pods", NAMESPACE, name)
        return found is not None and found["status"]["phase"] == "Running" and "deletionTimestamp" not in found["metadata"]

    def logs(self, pod: str) -> str:
        return self.node.kubectl("logs", "-n", NAMESPACE, pod)

    def finish(self, *pods: str) -> None:
        for pod in pods:
            command = ("exec", "-n", NAMESPACE, pod, "--", "touch", "/tmp/finish")  # noqa: S108
            eventually(lambda command=command: self.node.kube.kubectl(*command).returncode == 0, LIMIT, f"no exec in {pod}")  # type: ignore[misc]

    def container_id(self, pod: str, namespace: str = NAMESPACE) -> str:
        (status,) = self.api.get("pods", namespace, pod)["status"]["containerStatuses"]
        return str(status["containerID"]).removeprefix("containerd://")
