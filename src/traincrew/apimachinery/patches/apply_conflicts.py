"""Conflicts of server-side apply."""

from __future__ import annotations

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.patches import field_sets, path_elements
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.managed_fields import FieldManager


class ApplyConflicts(Exception):
    def __init__(self, fields: dict[FieldManager, Fields]) -> None:
        super().__init__("conflicts")
        self.fields = fields


def conflict_error(conflicts: dict[FieldManager, Fields]) -> StatusError:
    """409, with a cause for every field."""
    managers = sorted(conflicts, key=lambda manager: manager.identifier)
    listed = [(manager, _field_path(path)) for manager in managers for path in field_sets.paths(conflicts[manager])]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager.display()}", "field": path}
        for manager, path in listed
    ]
    if len(listed) == 1:
        text = f"1 conflict: conflict with {listed[0][0].display()}: {listed[0][1]}"
    else:
        lines = []
        for manager in managers:
            lines += [f"conflicts with {manager.display()}:", *(f"- {path}" for each, path in listed if each == manager)]
        text = f"{len(listed)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", f"Apply failed with {text}", causes=causes)


def _field_path(path: tuple[str, ...]) -> str:
    return "".join(map(path_elements.display, path))
