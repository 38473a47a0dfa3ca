"""The strategy of CustomResourceDefinitions. Names are accepted at once, so that the next request can use the resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import keep_metadata
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext
from traincrew.embedded.apiserver.schema import crd_validation, crds

KIND = "CustomResourceDefinition"


class CustomResourceDefinitionStrategy:
    allow_create_on_update = allow_unconditional_update = orphans_by_default = False

    def __init__(
        self, others: Callable[[], Iterable[Object]], now: Callable[[], str], sound: Callable[[str], Object | None]
    ) -> None:
        """others: all existing definitions. sound: by name, a definition that needs no validation."""
        self._others, self._now, self._sound = others, now, sound

    def default(self, obj: Object) -> None:
        crds.default(obj)

    def prepare_for_create(self, obj: Object, context: WriteContext) -> None:
        obj["metadata"]["generation"] = 1
        obj.pop("status", None)
        obj["status"] = crds.accept_names(obj, self._other_definitions(obj), context.now, self._is_sound(obj))

    def _other_definitions(self, obj: Object) -> list[Object]:
        return [each for each in self._others() if each["metadata"]["name"] != obj["metadata"]["name"]]

    def prepare_for_update(self, new: Object, old: Object, subresource: str, context: WriteContext) -> None:
        keep_metadata(new, old)
        if subresource == "status":
            new["spec"] = old["spec"]
            return
        new["status"] = old.get("status", {})
        if new["spec"] != old["spec"]:
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1
        new["status"] = crds.accept_names(new, self._other_definitions(new), self._now(), self._is_sound(new))

    def _is_sound(self, obj: Object) -> bool:
        known = self._sound(obj["metadata"].get("name", ""))
        return known is not None and known["spec"]["versions"] == obj["spec"].get("versions")

    def validate(self, obj: Object) -> list[FieldError]:
        return [] if self._is_sound(obj) else crd_validation.validate(obj)

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> list[FieldError]:
        return [] if subresource == "status" else crd_validation.validate_update(new, old)

    def warnings(self, obj: Object, old: Object | None = None) -> list[str]:
        conditions = (obj.get("status") or {}).get("conditions") or ()
        return [f"rules that are not enforced: {each['message']}" for each in conditions if each["type"] == crds.UNENFORCED]
