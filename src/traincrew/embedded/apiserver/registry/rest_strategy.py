"""The strategy of a resource: defaults, preparation and validation of its writes. Built-in and custom resources have one."""

from __future__ import annotations

from typing import Protocol

from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
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
        """Sets the fields that the server owns. May raise StatusError, as an allocation does."""
        ...

    def prepare_for_update(self, new: Object, old: Object, subresource: str, context: WriteContext) -> None:
        """Restores the fields that this write may not change, and increments the generation."""
        ...

    def validate(self, obj: Object) -> list[FieldError]: ...

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> list[FieldError]: ...

    def warnings(self, obj: Object, old: Object | None = None) -> list[str]: ...
