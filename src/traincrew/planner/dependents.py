"""The objects of a job other than pods and their services: create, restore and delete."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping, Sequence
from typing import Any

from traincrew.apimachinery import merge_patch_diff
from traincrew.kinds.dependent import Dependent
from traincrew.kinds.replica import Manifest
from traincrew.model import naming, resources
from traincrew.model.meta import Named
from traincrew.model.resources import Resource
from traincrew.planner import delegated_role, gang, name_conflicts, pods_and_services
from traincrew.planner.actions import Action, Create, Patch
from traincrew.planner.replicas import Replicas

# The API server checks the Role when a RoleBinding is created, so the Role must exist by then. A foreign Secret is not used:
# a launcher that mounts it must not be created.
_FIRST = (resources.ROLES, resources.SECRETS)


def reconcile(replicas: Replicas, *, gangs: bool = True) -> tuple[list[Action], list[Action], list[Action]]:
    """Actions of the first stage, actions before the pods, deletions."""
    desired = [*(gang.pod_groups(replicas) if gangs else ()), *_of_kind(replicas)]
    first: list[Action] = []
    before_pods: list[Action] = []
    for item in desired:
        if replicas.observed.exists(item.resource, item.name):
            before_pods += _restore(replicas, item)
        else:
            stage = first if item.resource in _FIRST else before_pods
            stage.append(_create(replicas, item))
    for patch in delegated_role.patches(replicas):
        (first if patch.subresource else before_pods).append(patch)
    return first, before_pods, delete_unwanted(replicas, {(item.resource, item.name) for item in desired})


def _of_kind(replicas: Replicas) -> list[Dependent]:
    items = [*replicas.kind.dependents.build(replicas.job, replicas.observed), *delegated_role.dependents(replicas)]
    labels = replicas.kind.dependents.labels(replicas.job)
    return [dataclasses.replace(item, body=_with_labels(item.body, labels)) for item in items]


def _with_labels(body: Manifest, labels: Mapping[str, str]) -> Manifest:
    return {**body, "metadata": {**body["metadata"], "labels": {**body["metadata"].get("labels", {}), **labels}}}


def _create(replicas: Replicas, item: Dependent) -> Create:
    """The operator's labels are on every object, so that one watch per resource selects them all."""
    body = item.body
    if item.owned:
        labels = {naming.OPERATOR_NAME: replicas.kind.controller, naming.JOB_NAME: replicas.job.name}
        body = pods_and_services.owned(replicas, _with_labels(body, labels))
    created = Create(item.resource, item.name, body, item.owned, item.shared, item.generate)
    return dataclasses.replace(created, first_attempt=name_conflicts.is_first_attempt(replicas, created))


def _restore(replicas: Replicas, item: Dependent) -> list[Patch]:
    """The merge patch that brings the reconciled field of an existing object to its desired state."""
    if not item.reconciled_field:
        return []
    existing = getattr(replicas.observed.find(item.resource, item.name), item.reconciled_field)
    value: Any = item.body[item.reconciled_field]
    if isinstance(value, dict):
        value = {key: entry for key, entry in value.items() if not merge_patch_diff.contains(existing.get(key), entry)}
    elif merge_patch_diff.contains(existing, value):
        return []
    return [Patch(item.resource, item.name, {item.reconciled_field: value})] if value else []


def delete_unwanted(replicas: Replicas, kept: Container[tuple[Resource, str]] = ()) -> list[Action]:
    """Delete autoscalers and PodGroups that the job does not need any more."""
    groups = gang.resource(replicas.observed.planning.gang_scheduler)
    candidates: list[tuple[Resource, Sequence[Named]]] = [
        (resources.AUTOSCALERS, replicas.observed.autoscalers),
        (groups, replicas.observed.pod_groups),
    ]
    return [
        pods_and_services.delete(resource, entry)
        for resource, entries in candidates
        for entry in entries
        if (resource, entry.metadata.name) not in kept and entry.metadata.deletion_timestamp is None
    ]
