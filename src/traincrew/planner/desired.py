"""From what a job wants to what must be done: objects made, mended and removed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Sequence

from traincrew.kinds import pod_templates
from traincrew.kinds.kind import Dependent, Manifest, Replica
from traincrew.model import naming, objects, resources
from traincrew.model.meta import Named
from traincrew.model.resources import Resource
from traincrew.planner import gang, host_ports
from traincrew.planner.actions import Action, Create, Delete, Patch
from traincrew.planner.replicas import Replicas

WITH_EVENTS = (resources.PODS, resources.SERVICES)
_REMOVAL_ANNOUNCED = (*WITH_EVENTS, resources.VOLCANO_POD_GROUPS, resources.PLUGINS_POD_GROUPS)


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
    """Pods for those replicas, and a Service for every replica that has none: what must be there first, and the rest.

    On a node without the cluster's resolver a pod is told at its start where Services are. They have to be there by then.
    """
    if host_ports.missing_ports(replicas):
        return [], []
    found = _creates(replicas, missing_pods)
    if not replicas.job.ports:
        return [], found
    early = [action for action in found if action.resource == resources.SERVICES]
    return early, [action for action in found if action.resource != resources.SERVICES]


def _creates(replicas: Replicas, missing_pods: Iterable[Replica]) -> list[Create]:
    missing = {replica.name for replica in missing_pods}
    served = {service.metadata.name for service in replicas.observed.services} if replicas.kind.pods.services else None
    found: list[Create] = []
    for replica in (slot.replica for slot in replicas.slots):
        serve = served is not None and replica.name not in served
        if replica.name not in missing and not serve:
            continue
        template = pod_templates.build(replicas.kind, replica)
        if serve:
            body = _owned(replicas, pod_templates.service(replicas.kind, replica, template))
            found.append(Create(resources.SERVICES, replica.name, body, with_event=True))
        if replica.name in missing:
            found.append(Create(resources.PODS, replica.name, _pod(replicas, replica, template), with_event=True))
    return found


def _pod(replicas: Replicas, replica: Replica, template: Manifest) -> Manifest:
    gang.join_gang(replicas, template, replica.role)
    meta = {"name": replica.name, **template["metadata"], "ownerReferences": [owner_reference(replicas)]}
    if not replica.role.indexed:
        meta["annotations"] = {**meta.get("annotations", {}), naming.CONFIG_DIGEST: config_digest(replicas)}
    return {"metadata": meta, "spec": template["spec"]}


def dependents(replicas: Replicas, *, gangs: bool = True) -> tuple[list[Action], list[Action], list[Action]]:
    """Everything beside pods and their services: what must be done first, what must be there before the pods, what is to go."""
    wanted = [*(gang.pod_groups(replicas) if gangs else ()), *replicas.kind.dependents.build(replicas.job, replicas.observed)]
    first: list[Action] = []
    make: list[Action] = []
    for item in wanted:
        name = item.body["metadata"]["name"]
        if not item.exists:
            _mark_launcher(replicas, item)
            # An API server looks at a Role when it is bound, so that nobody grants what he does not have.
            stage = first if item.resource == resources.ROLES else make
            stage.append(Create(item.resource, name, _labelled(replicas, item), item.owned, item.shared, item.generate))
        elif item.drift:
            first.extend(_unstarted(replicas, item, name))
            make.append(Patch(item.resource, name, item.drift))
    return first, make, delete_unwanted_dependents(replicas, {(item.resource, item.body["metadata"]["name"]) for item in wanted})


def _mark_launcher(replicas: Replicas, item: Dependent) -> None:
    """Pods that another controller makes belong to the gang too: without them it would never be complete."""
    for role in replicas.kind.roles:
        if role.delegated and item.resource == resources.BATCH_JOBS:
            gang.join_gang(replicas, item.body["spec"]["template"], role)


def _unstarted(replicas: Replicas, item: Dependent, name: str) -> list[Action]:
    """A Job's scheduling may be changed only while it counts as not started, even if it was suspended since."""
    if item.resource != resources.BATCH_JOBS or "template" not in (item.drift or {}).get("spec", {}):
        return []
    found = next((job for job in replicas.observed.batch_jobs if job.metadata.name == name), None)
    if found is None or found.status.start_time is None:
        return []
    return [Patch(item.resource, name, {"status": {"startTime": None}}, "status")]


def _labelled(replicas: Replicas, item: Dependent) -> Manifest:
    """Our labels on everything, so that one watch a resource sees just what is ours."""
    meta = item.body["metadata"]
    if not item.owned:
        return item.body
    ours = {naming.OPERATOR_NAME: replicas.kind.controller, naming.JOB_NAME: replicas.job.name}
    return _owned(replicas, {**item.body, "metadata": {**meta, "labels": {**meta.get("labels", {}), **ours}}})


def delete_unwanted_dependents(replicas: Replicas, wanted: set[tuple[Resource, str]] | None = None) -> list[Action]:
    """Autoscalers and pod groups that are not wanted (any more)."""
    wanted = wanted or set()
    groups = gang.resource(replicas.observed.planning.gang_scheduler)
    found: list[tuple[Resource, Sequence[Named]]] = [
        (resources.AUTOSCALERS, replicas.observed.autoscalers),
        (groups, replicas.observed.pod_groups),
    ]
    return [
        delete(resource, entry)
        for resource, entries in found
        for entry in entries
        if (resource, entry.metadata.name) not in wanted and entry.metadata.deletion_timestamp is None
    ]


def delete(resource: Resource, entry: Named) -> Delete:
    return Delete(resource, entry.metadata.name, entry.metadata.uid, with_event=resource in _REMOVAL_ANNOUNCED)


def delete_pods(unwanted: Iterable[objects.Pod]) -> list[Action]:
    return [delete(resources.PODS, entry) for entry in unwanted if not entry.terminating]


def delete_surplus_services(replicas: Replicas) -> list[Action]:
    """Services of replicas that are no more."""
    return delete_services(replicas, {slot.replica.name for slot in replicas.slots}) if replicas.kind.pods.services else []


def delete_services(replicas: Replicas, kept: Container[str]) -> list[Action]:
    found = sorted(replicas.observed.services, key=lambda service: service.metadata.name)
    leaving = (service for service in found if service.metadata.deletion_timestamp is None)
    return [delete(resources.SERVICES, service) for service in leaving if service.metadata.name not in kept]


def config_digest(replicas: Replicas) -> str:
    """Identifies the files that the launcher has mounted."""
    for item in replicas.kind.dependents.build(replicas.job, replicas.observed):
        if item.resource == resources.CONFIG_MAPS:
            text = json.dumps(item.body["data"], sort_keys=True)
            return hashlib.sha256(text.encode()).hexdigest()[:16]
    return ""


def refresh_mounted_files(replicas: Replicas) -> list[Action]:
    """A kubelet refreshes mounted files when the pod changes: touch launchers whose files are older than the config map."""
    launchers = [slot.pod for slot in replicas.slots if not slot.replica.role.indexed and slot.pod is not None]
    running = [entry for entry in (*launchers, *replicas.delegated_pods) if entry.active]
    if not running:
        return []
    wanted = config_digest(replicas)
    return [
        Patch(resources.PODS, entry.name, {"metadata": {"annotations": {naming.CONFIG_DIGEST: wanted}}})
        for entry in running
        if wanted and entry.metadata.annotations.get(naming.CONFIG_DIGEST) != wanted
    ]
