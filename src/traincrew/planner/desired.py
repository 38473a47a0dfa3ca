"""The actions that bring the objects of a job to their desired state: create, patch and delete."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Sequence

from traincrew.kinds import pod_templates
from traincrew.kinds.kind import Dependent
from traincrew.kinds.replica import Manifest, Replica
from traincrew.model import naming, objects, resources
from traincrew.model.meta import Named
from traincrew.model.resources import Resource
from traincrew.planner import gang, host_ports
from traincrew.planner.actions import Action, Create, Delete, Patch
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


def _owned(replicas: Replicas, body: Manifest) -> Manifest:
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [owner_reference(replicas)]}}


def create_pods_and_services(replicas: Replicas, missing_pods: Iterable[Replica]) -> tuple[list[Create], list[Create]]:
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
            body = _owned(replicas, pod_templates.service(replicas.kind, replica, template))
            actions.append(Create(resources.SERVICES, replica.name, body, with_event=True))
        if replica.name in missing:
            actions.append(Create(resources.PODS, replica.name, _pod(replicas, replica, template), with_event=True))
    return actions


def _pod(replicas: Replicas, replica: Replica, template: Manifest) -> Manifest:
    gang.join_gang(replicas, template, replica.role)
    meta = {"name": replica.name, **template["metadata"], "ownerReferences": [owner_reference(replicas)]}
    if not replica.role.indexed:
        meta["annotations"] = {**meta.get("annotations", {}), naming.CONFIG_DIGEST: config_digest(replicas)}
    return {"metadata": meta, "spec": template["spec"]}


def dependents(replicas: Replicas, *, gangs: bool = True) -> tuple[list[Action], list[Action], list[Action]]:
    """Objects other than pods and their services: actions of the first stage, actions before the pods, deletions."""
    desired = [*(gang.pod_groups(replicas) if gangs else ()), *replicas.kind.dependents.build(replicas.job, replicas.observed)]
    first: list[Action] = []
    before_pods: list[Action] = []
    for item in desired:
        name = item.body["metadata"]["name"]
        if not item.exists:
            _add_launcher_to_gang(replicas, item)
            # The API server checks the Role when a RoleBinding is created, so the Role must exist by then.
            stage = first if item.resource == resources.ROLES else before_pods
            stage.append(Create(item.resource, name, _labelled(replicas, item), item.owned, item.shared, item.generate))
        elif item.drift:
            first.extend(_reset_start_time(replicas, item, name))
            before_pods.append(Patch(item.resource, name, item.drift))
    return (
        first,
        before_pods,
        delete_unwanted_dependents(replicas, {(item.resource, item.body["metadata"]["name"]) for item in desired}),
    )


def _add_launcher_to_gang(replicas: Replicas, item: Dependent) -> None:
    """Pods that another controller creates are members of the gang too."""
    for role in replicas.kind.roles:
        if role.delegated and item.resource == resources.BATCH_JOBS:
            gang.join_gang(replicas, item.body["spec"]["template"], role)


def _reset_start_time(replicas: Replicas, item: Dependent, name: str) -> list[Action]:
    """The scheduling directives of a suspended Job can be changed only if it has no start time."""
    if item.resource != resources.BATCH_JOBS or "template" not in (item.drift or {}).get("spec", {}):
        return []
    existing = next((job for job in replicas.observed.batch_jobs if job.metadata.name == name), None)
    if existing is None or existing.status.start_time is None:
        return []
    return [Patch(item.resource, name, {"status": {"startTime": None}}, "status")]


def _labelled(replicas: Replicas, item: Dependent) -> Manifest:
    """The operator's labels are on every object, so that one watch per resource selects them all."""
    meta = item.body["metadata"]
    if not item.owned:
        return item.body
    labels = {naming.OPERATOR_NAME: replicas.kind.controller, naming.JOB_NAME: replicas.job.name}
    return _owned(replicas, {**item.body, "metadata": {**meta, "labels": {**meta.get("labels", {}), **labels}}})


def delete_unwanted_dependents(replicas: Replicas, kept: set[tuple[Resource, str]] | None = None) -> list[Action]:
    """Delete autoscalers and PodGroups that the job does not need any more."""
    kept = kept or set()
    groups = gang.resource(replicas.observed.planning.gang_scheduler)
    candidates: list[tuple[Resource, Sequence[Named]]] = [
        (resources.AUTOSCALERS, replicas.observed.autoscalers),
        (groups, replicas.observed.pod_groups),
    ]
    return [
        delete(resource, entry)
        for resource, entries in candidates
        for entry in entries
        if (resource, entry.metadata.name) not in kept and entry.metadata.deletion_timestamp is None
    ]


def delete(resource: Resource, entry: Named) -> Delete:
    return Delete(resource, entry.metadata.name, entry.metadata.uid, with_event=resource in _DELETED_WITH_EVENTS)


def delete_pods(unwanted: Iterable[objects.Pod]) -> list[Action]:
    return [delete(resources.PODS, entry) for entry in unwanted if not entry.terminating]


def delete_surplus_services(replicas: Replicas) -> list[Action]:
    """Delete the services of replicas that the job no longer has."""
    return delete_services(replicas, {slot.replica.name for slot in replicas.slots}) if replicas.kind.pods.services else []


def delete_services(replicas: Replicas, kept: Container[str]) -> list[Action]:
    services = sorted(replicas.observed.services, key=lambda service: service.metadata.name)
    live = (service for service in services if service.metadata.deletion_timestamp is None)
    return [delete(resources.SERVICES, service) for service in live if service.metadata.name not in kept]


def config_digest(replicas: Replicas) -> str:
    """Identifies the content of the ConfigMap that the launcher mounts."""
    for item in replicas.kind.dependents.build(replicas.job, replicas.observed):
        if item.resource == resources.CONFIG_MAPS:
            text = json.dumps(item.body["data"], sort_keys=True)
            return hashlib.sha256(text.encode()).hexdigest()[:16]
    return ""


def refresh_mounted_files(replicas: Replicas) -> list[Action]:
    """Annotate launchers whose mounted files are older than the ConfigMap: a kubelet refreshes the files when the pod changes."""
    launchers = [slot.pod for slot in replicas.slots if not slot.replica.role.indexed and slot.pod is not None]
    running = [entry for entry in (*launchers, *replicas.delegated_pods) if entry.active]
    if not running:
        return []
    digest = config_digest(replicas)
    return [
        Patch(resources.PODS, entry.name, {"metadata": {"annotations": {naming.CONFIG_DIGEST: digest}}})
        for entry in running
        if digest and entry.metadata.annotations.get(naming.CONFIG_DIGEST) != digest
    ]
