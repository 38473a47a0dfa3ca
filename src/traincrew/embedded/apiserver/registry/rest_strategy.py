"""What is particular to a kind when its objects are written: the same shape for built-in kinds and for CRDs."""

from __future__ import annotations

from typing import Protocol

from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext


class RestStrategy(Protocol):
    @property
    def allow_create_on_update(self) -> bool: ...

    @property
    def allow_unconditional_update(self) -> bool: ...

    @property
    def orphans_by_default(self) -> bool: ...

    def default(self, obj: Object) -> None: ...

    def prepare_for_create(self, obj: Object, context: WriteContext) -> None:
        """Fills in what the cluster adds. Raises StatusError where an admission plugin would."""
        ...

    def prepare_for_update(self, new: Object, old: Object, subresource: str, context: WriteContext) -> None:
        """Keeps what this write may not touch, and counts the generation."""
        ...

    def validate(self, obj: Object) -> list[FieldError]: ...

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> list[FieldError]: ...

    def warnings(self, obj: Object, old: Object | None = None) -> list[str]: ...
