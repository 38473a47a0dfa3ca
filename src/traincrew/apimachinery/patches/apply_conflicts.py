"""Conflicts of server-side apply, and how they are told."""

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
    owners = sorted(conflicts, key=lambda owner: owner.identifier)
    told = [(owner, _field_path(path)) for owner in owners for path in field_sets.paths(conflicts[owner])]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {owner.told()}", "field": path} for owner, path in told
    ]
    if len(told) == 1:
        text = f"1 conflict: conflict with {told[0][0].told()}: {told[0][1]}"
    else:
        lines = []
        for owner in owners:
            lines += [f"conflicts with {owner.told()}:", *(f"- {path}" for each, path in told if each == owner)]
        text = f"{len(told)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", f"Apply failed with {text}", causes=causes)


def _field_path(path: tuple[str, ...]) -> str:
    return "".join(map(path_elements.display, path))
