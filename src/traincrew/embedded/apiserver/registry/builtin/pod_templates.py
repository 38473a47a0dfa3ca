"""PodTemplates: a pod's template by itself."""

from __future__ import annotations

from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.registry.builtin.pods import defaults, disabled_fields, specs, warnings
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import Context


def _default(obj: Object) -> None:
    defaults.template(obj.setdefault("template", {}))


def _creating(obj: Object, _context: Context) -> None:
    disabled_fields.drop(obj["template"]["spec"])


def _updating(new: Object, _old: Object) -> None:
    disabled_fields.drop(new["template"]["spec"])


def _checked(obj: Object, errors: Errors) -> None:
    specs.check_template(obj["template"], "template", errors)


def _warned(obj: Object) -> list[str]:
    return warnings.template(obj["template"], "template")


class PodTemplateStrategy(Strategy):
    def _differs(self, new: Object, old: Object) -> bool:
        return bool(new["template"] != old["template"])


POD_TEMPLATE = PodTemplateStrategy(
    kind="PodTemplate",
    has_generation=True,
    defaults=_default,
    creating=_creating,
    updating=_updating,
    checked=_checked,
    on_update=("meta", "spec"),
    warned=_warned,
)
