"""Objects of CustomResourceDefinitions: what the schema says, around what holds for every object."""

from __future__ import annotations

from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.resource_info import Object, ResourceInfo
from traincrew.embedded.apiserver.registry import builtin
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext
from traincrew.embedded.apiserver.schema import custom_resources


class CustomStrategy:
    allow_create_on_update = allow_unconditional_update = orphans_by_default = False

    def __init__(self, info: ResourceInfo) -> None:
        self._info = info
        self._plain = builtin.custom(info.namespaced, info.subresource("status") is not None)

    def default(self, obj: Object) -> None:
        custom_resources.default(obj, self._info.schema)

    def prepare_for_create(self, obj: Object, context: WriteContext) -> None:
        self._plain.prepare_for_create(obj, context)

    def prepare_for_update(self, new: Object, old: Object, subresource: str, context: WriteContext) -> None:
        self._plain.prepare_for_update(new, old, subresource, context)

    def validate(self, obj: Object) -> list[FieldError]:
        return custom_resources.validate(obj, self._info, self._plain.validate(obj))

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> list[FieldError]:
        before = self._plain.validate_update(new, old, subresource)
        if subresource == "status":
            return custom_resources.validate_status(new, old, self._info, before)
        return custom_resources.validate_update(new, old, self._info, before)

    def warnings(self, obj: Object, old: Object | None = None) -> list[str]:
        return []
