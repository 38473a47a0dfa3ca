"""Fields that many kinds share, as far as rows need them, and their text in a cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from traincrew.apimachinery import label_selectors, selectors

NONE = "<none>"
UNSET = "<unset>"
Quantity = str | int | float


class Fields(msgspec.Struct, rename="camel", gc=False):
    """A part of an object; undeclared fields are skipped."""


class Metadata(Fields):
    name: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class LabelledMetadata(Metadata):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Condition(Fields):
    type: str = ""
    status: str = ""
    reason: str = ""


class Container(Fields):
    name: str = ""
    image: str = ""
    restart_policy: str = ""


class PodTemplateSpec(Fields):
    containers: list[Container] = []
    node_selector: dict[str, str] = {}


class LabelsOnly(Fields):
    labels: dict[str, str] = {}


class PodTemplate(Fields):
    metadata: LabelsOnly = msgspec.field(default_factory=LabelsOnly)
    spec: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)


class Expression(Fields):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class Selector(Fields):
    match_labels: dict[str, str] = {}
    match_expressions: list[Expression] = []


class Reference(Fields):
    kind: str = ""
    name: str = ""
    namespace: str = ""


def images(containers: Iterable[Container]) -> tuple[str, str]:
    known = tuple(containers)
    return ",".join(each.name for each in known), ",".join(each.image for each in known)


def labels(pairs: Mapping[str, str]) -> str:
    return selectors.format_labels(pairs) or NONE


def selector(chosen: Selector | None) -> str:
    return selector_text(chosen) or NONE


def selector_text(chosen: Selector | None) -> str:
    """The string form of a selector; empty if it selects everything or nothing."""
    if chosen is None:
        return ""
    requirements = [(each.key, each.operator, each.values) for each in chosen.match_expressions]
    return label_selectors.to_text(chosen.match_labels, requirements)


def first_items(items: list[str], count: int, most: int) -> str:
    """The first items, and the number of the others."""
    message = ",".join(items[:most])
    return f"{message} + {count - most} more..." if count > most else message


def condition(conditions: Iterable[Condition], type: str) -> str:
    """The status of the first condition of a type; empty if there is none."""
    return next((each.status for each in conditions if each.type == type), "")
