"""From what a job wants to what must be done: objects made, mended and removed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from traincrew.kinds import pods
from traincrew.kinds.kind import Desired, Manifest, Replica
from traincrew.model import naming, objects, resources
from traincrew.model.meta import Named
from traincrew.model.resources import Resource
from traincrew.planner import gang
from traincrew.planner.actions import Action, Create, Delete, Patch
from traincrew.planner.crew import Crew

ANNOUNCED = (resources.PODS, resources.SERVICES)


def owner(crew: Crew) -> Manifest:
    return {
        "apiVersion": f"kubeflow.org/{crew.kind.version}",
        "kind": crew.kind.kind,
        "name": crew.job.name,
        "uid": crew.job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _owned(crew: Crew, body: Manifest) -> Manifest:
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [owner(crew)]}}


def pod(crew: Crew, replica: Replica) -> Manifest:
    body = pods.build(crew.kind, replica)
    gang.mark(body, replica)
    body["metadata"]["name"] = replica.name
    body["metadata"]["ownerReferences"] = [owner(crew)]
    if not replica.role.indexed:
        annotations = body["metadata"].setdefault("annotations", {})
        annotations[naming.CONFIG_DIGEST] = digest(crew)
    return body


def creates(crew: Crew, missing_pods: Iterable[Replica]) -> list[Action]:
    """Pods for those replicas, and a Service for every replica that has none."""
    found: list[Action] = [Create(resources.PODS, replica.name, pod(crew, replica), announced=True) for replica in missing_pods]
    if crew.kind.services:
        there = {service.metadata.name for service in crew.observed.services}
        for slot in crew.slots:
            if slot.replica.name not in there:
                body = pods.service(crew.kind, slot.replica, pods.build(crew.kind, slot.replica))
                found.append(Create(resources.SERVICES, slot.replica.name, _owned(crew, body), announced=True))
    return found


def extras(crew: Crew) -> tuple[list[Action], list[Action]]:
    """Everything beside pods and their services: first what must be there before the pods, then what is to go."""
    wanted = [*gang.desired(crew), *crew.kind.extras(crew.job, crew.observed)]
    make: list[Action] = []
    for item in wanted:
        name = item.body["metadata"]["name"]
        if not item.exists:
            make.append(Create(item.resource, name, _labelled(crew, item), item.owned, item.shared, item.generate))
        elif item.drift:
            make.extend(_mend(crew, item, name))
    names = {(item.resource, item.body["metadata"]["name"]) for item in wanted}
    return make, transient(crew, names)


def _mend(crew: Crew, item: Desired, name: str) -> list[Action]:
    found: list[Action] = []
    if item.resource == resources.BATCH_JOBS and "template" in (item.drift or {}).get("spec", {}):
        started = next((job for job in crew.observed.batch_jobs if job.metadata.name == name), None)
        if started is not None and started.status.start_time is not None:
            # A Job's scheduling may be changed only while it counts as not started.
            found.append(Patch(item.resource, name, {"status": {"startTime": None}}, "status"))
    return [*found, Patch(item.resource, name, item.drift or {})]


def _labelled(crew: Crew, item: Desired) -> Manifest:
    """Our labels on everything, so that one watch a resource sees just what is ours."""
    meta = item.body["metadata"]
    if not item.owned:
        return item.body
    ours = {naming.OPERATOR_NAME: crew.kind.controller, naming.JOB_NAME: crew.job.name}
    return _owned(crew, {**item.body, "metadata": {**meta, "labels": {**meta.get("labels", {}), **ours}}})


def transient(crew: Crew, wanted: set[tuple[Resource, str]] | None = None) -> list[Action]:
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
    return Delete(resource, entry.metadata.name, entry.metadata.uid, announced=resource in ANNOUNCED)


def deletes(crew: Crew, unwanted: Iterable[objects.Pod]) -> list[Action]:
    return [delete(resources.PODS, entry) for entry in unwanted if not entry.terminating]


def stray_services(crew: Crew) -> list[Action]:
    """Services of replicas that are no more."""
    if not crew.kind.services:
        return []
    wanted = {slot.replica.name for slot in crew.slots}
    return [
        delete(resources.SERVICES, service)
        for service in crew.observed.services
        if service.metadata.name not in wanted and service.metadata.deletion_timestamp is None
    ]


def digest(crew: Crew) -> str:
    """Identifies the files that the launcher has mounted."""
    for item in crew.kind.extras(crew.job, crew.observed):
        if item.resource == resources.CONFIG_MAPS:
            text = json.dumps(item.body["data"], sort_keys=True)
            return hashlib.sha256(text.encode()).hexdigest()[:16]
    return ""


def refreshes(crew: Crew) -> list[Action]:
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
