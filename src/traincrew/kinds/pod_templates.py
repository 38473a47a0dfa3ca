"""The pod and the service of a replica, built from the template of its role."""

from __future__ import annotations

from typing import Any

from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Env, Manifest, Replica, env_vars
from traincrew.model import naming


def labels(kind: JobKind, replica: Replica) -> dict[str, str]:
    """The labels that the operator sets. They override those of the template."""
    if kind.pods.labels is not None:
        return kind.pods.labels(replica)
    common = selector(kind, replica)
    return {**common, naming.JOB_ROLE: "master"} if kind.leads(replica) else common


def selector(kind: JobKind, replica: Replica) -> dict[str, str]:
    """The labels that select one replica: labels and selector of its Service."""
    labels = {
        naming.OPERATOR_NAME: kind.controller,
        naming.JOB_NAME: replica.job.name,
        naming.REPLICA_TYPE: replica.role.label,
    }
    return {**labels, naming.REPLICA_INDEX: str(replica.index)} if replica.role.indexed else labels


def build(kind: JobKind, replica: Replica) -> Manifest:
    """The pod of a replica: metadata and spec, without name and owner reference."""
    role = replica.job.roles[replica.role.name]
    template = role.fresh_template()
    meta = template.get("metadata") or {}
    pod: Manifest = {
        "metadata": {key: meta[key] for key in ("annotations", "finalizers") if meta.get(key)},
        "spec": template.get("spec") or {},
    }
    pod["metadata"]["labels"] = {**(meta.get("labels") or {}), **labels(kind, replica)}
    spec = pod["spec"]
    spec["restartPolicy"] = "Never" if role.restart_policy == "ExitCode" else role.restart_policy
    main = main_container(kind, spec["containers"])
    if kind.pods.port is not None:
        _add_port(main, kind.pods.port)
        if (host_port := replica.job.port(replica.role.name, replica.index)) is not None:
            _set_port(spec, main, kind.pods.port[0], host_port)
    env, default_env = kind.pods.env(replica), kind.pods.default_env(replica)
    for container in spec["containers"] if kind.pods.env_in == "all" else [main]:
        _add_env(container, env, default_env)
    kind.pods.customize(pod, replica)
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        # The last log lines become the termination message: the status keeps the cause after the pod is deleted.
        container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    return pod


def main_container(kind: JobKind, containers: list[Any]) -> Manifest:
    name = kind.pods.container
    main: Manifest = next((container for container in containers if name and container.get("name") == name), containers[0])
    return main


def mount(kind: JobKind, pod: Manifest, name: str, path: str, source: Manifest) -> None:
    """Add a volume to the pod and mount it into the main container."""
    pod["spec"].setdefault("volumes", []).append({"name": name, **source})
    main = main_container(kind, pod["spec"]["containers"])
    main.setdefault("volumeMounts", []).append({"name": name, "mountPath": path})


def add_init_containers(kind: JobKind, pod: Manifest, containers: list[Manifest]) -> None:
    """Add init containers with the security context of the main container, which `restricted` namespaces require of all."""
    main = main_container(kind, pod["spec"]["containers"])
    for container in containers:
        if "securityContext" in main:
            container.setdefault("securityContext", main["securityContext"])
    pod["spec"].setdefault("initContainers", []).extend(containers)


def _add_env(container: Manifest, env: Env, default_env: Env) -> None:
    given = container.get("env", [])
    names = {entry.get("name") for entry in given}
    added = env_vars({**env, **{name: value for name, value in default_env.items() if name not in names}})
    if added:
        container["env"] = [*given, *added]


def _add_port(container: Manifest, port: tuple[str, int]) -> None:
    ports = container.get("ports", [])
    if not any(entry.get("name") == port[0] for entry in ports):
        container["ports"] = [*ports, {"name": port[0], "containerPort": port[1]}]


def _set_port(spec: Manifest, container: Manifest, name: str, number: int) -> None:
    """Replace the port of the template by the host port that was allocated to the replica."""
    for entry in container["ports"]:
        if entry.get("name") == name:
            entry["containerPort"] = number
            if spec.get("hostNetwork") or "hostPort" in entry:
                entry["hostPort"] = number
    if spec.get("hostNetwork"):
        # The resolver of the node does not resolve names of the cluster.
        spec.setdefault("dnsPolicy", "ClusterFirstWithHostNet")


def service(kind: JobKind, replica: Replica, pod: Manifest) -> Manifest:
    """The headless Service that gives a replica its DNS name, with every port of the main container."""
    return {
        "metadata": {"name": replica.name, "labels": selector(kind, replica)},
        "spec": {
            "clusterIP": "None",
            "selector": selector(kind, replica),
            "ports": _service_ports(main_container(kind, pod["spec"]["containers"])["ports"]),
        },
    }


def _service_ports(ports: list[Manifest]) -> list[Manifest]:
    """Ports with names and without duplicates, which a Service requires and a container does not."""
    by_number: dict[int, Manifest] = {}
    for entry in ports:
        number = entry["containerPort"]
        by_number.setdefault(number, {"name": entry.get("name") or f"port-{number}", "port": number})
    return list(by_number.values())
