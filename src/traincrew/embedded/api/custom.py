"""Objects of CustomResourceDefinitions: what the schema says, around what holds for every object."""

from __future__ import annotations

from traincrew.embedded import builtin
from traincrew.embedded.builtin.context import Context
from traincrew.embedded.fields import FieldError
from traincrew.embedded.schemas import custom
from traincrew.embedded.served import Object, Served


class CustomStrategy:
    created_by_update = unconditional = orphans = False

    def __init__(self, served: Served) -> None:
        self._served = served
        self._plain = builtin.custom(served.namespaced, served.subresource("status") is not None)

    def default(self, obj: Object) -> None:
        custom.default(obj, self._served.schema)

    def prepare_create(self, obj: Object, context: Context) -> None:
        self._plain.prepare_create(obj, context)

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        self._plain.prepare_update(new, old, subresource, context)

    def validate(self, obj: Object) -> list[FieldError]:
        return custom.validate(obj, self._served, self._plain.validate(obj))

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> list[FieldError]:
        before = self._plain.validate_update(new, old, subresource)
        if subresource == "status":
            return custom.validate_status(new, old, self._served, before)
        return custom.validate_update(new, old, self._served, before)

    def warnings(self, obj: Object, old: Object | None = None) -> list[str]:
        return []
