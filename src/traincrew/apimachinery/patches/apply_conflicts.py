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
    told = [(manager, _field_path(path)) for manager in managers for path in field_sets.paths(conflicts[manager])]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager.display()}", "field": path}
        for manager, path in told
    ]
    if len(told) == 1:
        text = f"1 conflict: conflict with {told[0][0].display()}: {told[0][1]}"
    else:
        lines = []
        for manager in managers:
            lines += [f"conflicts with {manager.display()}:", *(f"- {path}" for each, path in told if each == manager)]
        text = f"{len(told)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", f"Apply failed with {text}", causes=causes)


def _field_path(path: tuple[str, ...]) -> str:
    return "".join(map(path_elements.display, path))
