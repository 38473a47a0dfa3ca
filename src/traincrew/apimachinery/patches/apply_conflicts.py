"""Conflicts of server-side apply: fields that the configuration changes and that other managers own."""

from __future__ import annotations

import itertools

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.patches import field_sets, last_applied, path_elements
from traincrew.apimachinery.patches.field_managers import VersionedComparison
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.managed_fields import FieldManager, ManagedFieldsContext, Managers
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object

MAX_CONFLICTS = 1_000


class ApplyConflicts(Exception):
    def __init__(self, fields: dict[FieldManager, Fields]) -> None:
        super().__init__("conflicts")
        self.fields = fields


def detect(managers: Managers, changes: VersionedComparison, own: FieldManager) -> dict[FieldManager, Fields]:
    conflicts = {}
    for manager, versioned_set in managers.items():
        if manager != own and (seen := changes.in_version(versioned_set.version)) is not None:
            fields = field_sets.intersection(versioned_set.fields, seen.changed)
            if fields:
                conflicts[manager] = fields
    return conflicts


def after_migration(
    conflicts: ApplyConflicts, live: Object | None, applied: Object, schema: Schema, context: ManagedFieldsContext
) -> dict[FieldManager, Fields]:
    """The conflicts without fields that kubectl applied on the client side, according to its annotation."""
    if context.manager != last_applied.KUBECTL or live is None:
        return conflicts.fields
    allowed = last_applied.fields(live, applied["apiVersion"], schema)
    left = {manager: field_sets.difference(fields, allowed) for manager, fields in conflicts.fields.items()}
    return {manager: fields for manager, fields in left.items() if fields}


def error(conflicts: dict[FieldManager, Fields]) -> StatusError:
    """409, with a cause for every field, up to a limit."""
    managers = sorted(conflicts, key=lambda manager: manager.identifier)
    found = ((manager, _field_path(path)) for manager in managers for path in field_sets.paths(conflicts[manager]))
    listed = list(itertools.islice(found, MAX_CONFLICTS))
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager.display()}", "field": path}
        for manager, path in listed
    ]
    if len(listed) == 1:
        text = f"1 conflict: conflict with {listed[0][0].display()}: {listed[0][1]}"
    else:
        lines = []
        for manager, fields in itertools.groupby(listed, key=lambda each: each[0]):
            lines += [f"conflicts with {manager.display()}:", *(f"- {path}" for _, path in fields)]
        text = f"{len(listed)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", f"Apply failed with {text}", causes=causes)


def _field_path(path: tuple[str, ...]) -> str:
    return "".join(map(path_elements.display, path))
