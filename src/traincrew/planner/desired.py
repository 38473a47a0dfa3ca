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

ANNOUNCED = (resources.PODS, resources.SERVICES)
_REMOVAL_ANNOUNCED = (*ANNOUNCED, resources.VOLCANO_POD_GROUPS, resources.PLUGINS_POD_GROUPS)


def owner(crew: Replicas) -> Manifest:
    return {
        "apiVersion": f"kubeflow.org/{crew.kind.version}",
        "kind": crew.kind.kind,
        "name": crew.job.name,
        "uid": crew.job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _owned(crew: Replicas, body: Manifest) -> Manifest:
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [owner(crew)]}}


def creates(crew: Replicas, missing_pods: Iterable[Replica]) -> tuple[list[Create], list[Create]]:
    """Pods for those replicas, and a Service for every replica that has none: what must be there first, and the rest.

    On a node without the cluster's resolver a pod is told at its start where Services are. They have to be there by then.
    """
    if host_ports.lacking(crew):
        return [], []
    found = _creates(crew, missing_pods)
    if not crew.job.ports:
        return [], found
    early = [action for action in found if action.resource == resources.SERVICES]
    return early, [action for action in found if action.resource != resources.SERVICES]


def _creates(crew: Replicas, missing_pods: Iterable[Replica]) -> list[Create]:
    missing = {replica.name for replica in missing_pods}
    served = {service.metadata.name for service in crew.observed.services} if crew.kind.pods.services else None
    found: list[Create] = []
    for replica in (slot.replica for slot in crew.slots):
        serve = served is not None and replica.name not in served
        if replica.name not in missing and not serve:
            continue
        template = pod_templates.build(crew.kind, replica)
        if serve:
            body = _owned(crew, pod_templates.service(crew.kind, replica, template))
            found.append(Create(resources.SERVICES, replica.name, body, announced=True))
        if replica.name in missing:
            found.append(Create(resources.PODS, replica.name, _pod(crew, replica, template), announced=True))
    return found


def _pod(crew: Replicas, replica: Replica, template: Manifest) -> Manifest:
    gang.mark(crew, template, replica.role)
    meta = {"name": replica.name, **template["metadata"], "ownerReferences": [owner(crew)]}
    if not replica.role.indexed:
        meta["annotations"] = {**meta.get("annotations", {}), naming.CONFIG_DIGEST: digest(crew)}
    return {"metadata": meta, "spec": template["spec"]}


def extras(crew: Replicas, *, gangs: bool = True) -> tuple[list[Action], list[Action], list[Action]]:
    """Everything beside pods and their services: what must be done first, what must be there before the pods, what is to go."""
    wanted = [*(gang.desired(crew) if gangs else ()), *crew.kind.dependents.build(crew.job, crew.observed)]
    first: list[Action] = []
    make: list[Action] = []
    for item in wanted:
        name = item.body["metadata"]["name"]
        if not item.exists:
            _mark_launcher(crew, item)
            # An API server looks at a Role when it is bound, so that nobody grants what he does not have.
            stage = first if item.resource == resources.ROLES else make
            stage.append(Create(item.resource, name, _labelled(crew, item), item.owned, item.shared, item.generate))
        elif item.drift:
            first.extend(_unstarted(crew, item, name))
            make.append(Patch(item.resource, name, item.drift))
    return first, make, transient(crew, {(item.resource, item.body["metadata"]["name"]) for item in wanted})


def _mark_launcher(crew: Replicas, item: Dependent) -> None:
    """Pods that another controller makes belong to the gang too: without them it would never be complete."""
    for role in crew.kind.roles:
        if role.delegated and item.resource == resources.BATCH_JOBS:
            gang.mark(crew, item.body["spec"]["template"], role)


def _unstarted(crew: Replicas, item: Dependent, name: str) -> list[Action]:
    """A Job's scheduling may be changed only while it counts as not started, even if it was suspended since."""
    if item.resource != resources.BATCH_JOBS or "template" not in (item.drift or {}).get("spec", {}):
        return []
    found = next((job for job in crew.observed.batch_jobs if job.metadata.name == name), None)
    if found is None or found.status.start_time is None:
        return []
    return [Patch(item.resource, name, {"status": {"startTime": None}}, "status")]


def _labelled(crew: Replicas, item: Dependent) -> Manifest:
    """Our labels on everything, so that one watch a resource sees just what is ours."""
    meta = item.body["metadata"]
    if not item.owned:
        return item.body
    ours = {naming.OPERATOR_NAME: crew.kind.controller, naming.JOB_NAME: crew.job.name}
    return _owned(crew, {**item.body, "metadata": {**meta, "labels": {**meta.get("labels", {}), **ours}}})


def transient(crew: Replicas, wanted: set[tuple[Resource, str]] | None = None) -> list[Action]:
    """Autoscalers and pod groups that are not wanted (any more)."""
    wanted = wanted or set()
    groups = gang.resource(crew.observed.planning.gang_scheduler)
    found: list[tuple[Resource, Sequence[Named]]] = [
        (resources.AUTOSCALERS, crew.observed.autoscalers),
        (groups, crew.observed.pod_groups),
    ]
    return [
        delete(resource, entry)
        for resource, entries in found
        for entry in entries
        if (resource, entry.metadata.name) not in wanted and entry.metadata.deletion_timestamp is None
    ]


def delete(resource: Resource, entry: Named) -> Delete:
    return Delete(resource, entry.metadata.name, entry.metadata.uid, announced=resource in _REMOVAL_ANNOUNCED)


def deletes(unwanted: Iterable[objects.Pod]) -> list[Action]:
    return [delete(resources.PODS, entry) for entry in unwanted if not entry.terminating]


def stray_services(crew: Replicas) -> list[Action]:
    """Services of replicas that are no more."""
    return service_deletes(crew, {slot.replica.name for slot in crew.slots}) if crew.kind.pods.services else []


def service_deletes(crew: Replicas, kept: Container[str]) -> list[Action]:
    found = sorted(crew.observed.services, key=lambda service: service.metadata.name)
    leaving = (service for service in found if service.metadata.deletion_timestamp is None)
    return [delete(resources.SERVICES, service) for service in leaving if service.metadata.name not in kept]


def digest(crew: Replicas) -> str:
    """Identifies the files that the launcher has mounted."""
    for item in crew.kind.dependents.build(crew.job, crew.observed):
        if item.resource == resources.CONFIG_MAPS:
            text = json.dumps(item.body["data"], sort_keys=True)
            return hashlib.sha256(text.encode()).hexdigest()[:16]
    return ""


def refreshes(crew: Replicas) -> list[Action]:
    """A kubelet refreshes mounted files when the pod changes: touch launchers whose files are older than the config map."""
    launchers = [slot.pod for slot in crew.slots if not slot.replica.role.indexed and slot.pod is not None]
    running = [entry for entry in (*launchers, *crew.delegated_pods) if entry.active]
    if not running:
        return []
    wanted = digest(crew)
    return [
        Patch(resources.PODS, entry.name, {"metadata": {"annotations": {naming.CONFIG_DIGEST: wanted}}})
        for entry in running
        if wanted and entry.metadata.annotations.get(naming.CONFIG_DIGEST) != wanted
    ]
