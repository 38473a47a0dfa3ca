"""The pods of replicas and their services: create and delete."""

from __future__ import annotations

from collections.abc import Container, Iterable
from collections.abc import Set as AbstractSet

from traincrew.kinds import pod_templates
from traincrew.kinds.replica import Manifest, Replica
from traincrew.model import naming, objects, resources
from traincrew.model.meta import Named
from traincrew.model.resources import Resource
from traincrew.planner import elastic_members, gang, host_ports, mounted_files, resize_notices
from traincrew.planner.actions import Action, Create, Delete
from traincrew.planner.replicas import Replicas

WITH_EVENTS = (resources.PODS, resources.SERVICES)
_DELETED_WITH_EVENTS = (*WITH_EVENTS, resources.VOLCANO_POD_GROUPS, resources.PLUGINS_POD_GROUPS)


def owner_reference(replicas: Replicas) -> Manifest:
    return {
        "apiVersion": f"kubeflow.org/{replicas.kind.version}",
        "kind": replicas.kind.kind,
        "name": replicas.job.name,
        "uid": replicas.job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owned(replicas: Replicas, body: Manifest) -> Manifest:
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [owner_reference(replicas)]}}


def create(replicas: Replicas, missing_pods: Iterable[Replica]) -> tuple[list[Create], list[Create]]:
    """Pods for these replicas, and a Service for every replica without one: objects of the first stage, and the rest.

    On a node without the cluster's DNS a pod learns the addresses of Services at its start, so Services are created first.
    """
    if host_ports.missing_ports(replicas):
        return [], []
    actions = _creates(replicas, missing_pods)
    if not replicas.job.ports:
        return [], actions
    services = [action for action in actions if action.resource == resources.SERVICES]
    return services, [action for action in actions if action.resource != resources.SERVICES]


def _creates(replicas: Replicas, missing_pods: Iterable[Replica]) -> list[Create]:
    missing = {replica.name for replica in missing_pods}
    existing = {service.metadata.name for service in replicas.observed.services}
    actions: list[Create] = []
    for replica in (slot.replica for slot in replicas.slots):
        needs_service = replicas.kind.pods.services and replica.name not in existing
        if replica.name not in missing and not needs_service:
            continue
        template = pod_templates.build(replicas.kind, replica)
        if needs_service:
            body = owned(replicas, pod_templates.service(replicas.kind, replica, template))
            actions.append(Create(resources.SERVICES, replica.name, body, with_event=True))
        if replica.name in missing:
            actions.append(Create(resources.PODS, replica.name, _pod(replicas, replica, template), with_event=True))
    return actions


def _pod(replicas: Replicas, replica: Replica, template: Manifest) -> Manifest:
    gang.join_gang(replicas, template, replica)
    elastic_members.prefer_steady_nodes(replicas, replica, template)
    elastic_members.mark_surplus(replicas, replica, template)
    resize_notices.mount(replicas, template)
    meta = {"name": replica.name, **template["metadata"], "ownerReferences": [owner_reference(replicas)]}
    if not replica.role.indexed:
        meta["annotations"] = {**meta.get("annotations", {}), naming.CONFIG_DIGEST: mounted_files.config_digest(replicas)}
    return {"metadata": meta, "spec": template["spec"]}


def delete(resource: Resource, entry: Named) -> Delete:
    return Delete(resource, entry.metadata.name, entry.metadata.uid, with_event=resource in _DELETED_WITH_EVENTS)


def delete_pods(unwanted: Iterable[objects.Pod]) -> list[Action]:
    return [delete(resources.PODS, entry) for entry in unwanted if not entry.terminating]


def delete_excess_services(replicas: Replicas, kept: AbstractSet[str] = frozenset()) -> list[Action]:
    """Delete the services of replicas that the job no longer has. kept: excess pods that still use theirs."""
    names = {slot.replica.name for slot in replicas.slots} | kept
    return delete_services(replicas, names) if replicas.kind.pods.services else []


def delete_services(replicas: Replicas, kept: Container[str]) -> list[Action]:
    services = sorted(replicas.observed.services, key=lambda service: service.metadata.name)
    live = (service for service in services if service.metadata.deletion_timestamp is None)
    return [delete(resources.SERVICES, service) for service in live if service.metadata.name not in kept]
