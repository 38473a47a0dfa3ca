"""From a role's template to the pod of one replica."""

from __future__ import annotations

from typing import Any

from traincrew.kinds.kind import JobKind, Manifest, Replica
from traincrew.model import naming


def labels(kind: JobKind, replica: Replica) -> dict[str, str]:
    """The operator's labels; they win over the template's."""
    if kind.labels is not None:
        return kind.labels(replica)
    found = address(kind, replica)
    return {**found, naming.JOB_ROLE: "master"} if kind.leads(replica) else found


def address(kind: JobKind, replica: Replica) -> dict[str, str]:
    """The four labels that pick out one replica: a Service's labels and selector."""
    return {
        naming.OPERATOR_NAME: kind.controller,
        naming.JOB_NAME: replica.job.name,
        naming.REPLICA_TYPE: replica.role.label,
        naming.REPLICA_INDEX: str(replica.index),
    }


def build(kind: JobKind, replica: Replica) -> Manifest:
    """The pod of a replica, without owner: metadata and spec as a template of it would have them too."""
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
    if kind.port is not None:
        _add_port(main, kind.port)
        if (given := replica.job.port(replica.role.name, replica.index)) is not None:
            _move(spec, main, kind.port[0], given)
    env = kind.env(replica)
    for container in spec["containers"] if kind.env_in == "all" else [main]:
        if env:
            container["env"] = [*container.get("env", []), *env]
    kind.adorn(pod, replica)
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        # The last log lines become the termination message, so that the cause outlives the pod without reading logs.
        container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    return pod


def main_container(kind: JobKind, containers: list[Any]) -> Manifest:
    named: Manifest = next((c for c in containers if kind.container and c.get("name") == kind.container), containers[0])
    return named


def _add_port(container: Manifest, port: tuple[str, int]) -> None:
    ports = container.get("ports", [])
    if not any(entry.get("name") == port[0] for entry in ports):
        container["ports"] = [*ports, {"name": port[0], "containerPort": port[1]}]


def _move(spec: Manifest, container: Manifest, name: str, number: int) -> None:
    """To the port that the replica was given, whatever its template says."""
    for entry in container["ports"]:
        if entry.get("name") == name:
            entry["containerPort"] = number
            if spec.get("hostNetwork") or "hostPort" in entry:
                entry["hostPort"] = number
    if spec.get("hostNetwork"):
        # The names of the others are the cluster's, which a node's own resolver does not know.
        spec.setdefault("dnsPolicy", "ClusterFirstWithHostNet")


def service(kind: JobKind, replica: Replica, pod: Manifest) -> Manifest:
    """The headless Service that gives a replica its name, with every port of the training container."""
    return {
        "metadata": {"name": replica.name, "labels": address(kind, replica)},
        "spec": {
            "clusterIP": "None",
            "selector": address(kind, replica),
            "ports": _service_ports(main_container(kind, pod["spec"]["containers"])["ports"]),
        },
    }


def _service_ports(ports: list[Manifest]) -> list[Manifest]:
    """A Service must name each of several ports and wants no number twice; a container's ports need neither."""
    found: dict[int, Manifest] = {}
    for entry in ports:
        number = entry["containerPort"]
        found.setdefault(number, {"name": entry.get("name") or f"port-{number}", "port": number})
    return list(found.values())
