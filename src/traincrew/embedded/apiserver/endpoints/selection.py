"""Label and field selectors of a request, and the fields that each resource can be selected by."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from traincrew.apimachinery import selectors
from traincrew.apimachinery.api_errors import bad_request
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.storage.records import Record, SelectableFields

NAMES = ("metadata.name", "metadata.namespace")

FIELDS: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    ),
    "events": (
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
        "reason", "reportingComponent", "source", "type",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "jobs.batch": ("status.successful",),
    "replicationcontrollers": ("status.replicas",),
    "replicasets.apps": ("status.replicas",),
}  # fmt: skip
"""Beyond metadata.name and metadata.namespace, as the Go types allow them."""

RENAMED = {
    "events.k8s.io": {
        "reason": "reason",
        "type": "type",
        "reportingController": "reportingComponent",
        **{name: name for name in NAMES},
        **{path.replace("involvedObject", "regarding"): path for path in FIELDS["events"] if path.startswith("involved")},
    }
}
"""Groups whose field labels differ from the stored fields."""

NO_SELECTABLE_FIELDS = SelectableFields({}, {})


def describe(resource: str, obj: Object, selectable: Callable[[str], tuple[str, ...]]) -> SelectableFields:
    """The fields that selectors match, kept beside the stored bytes."""
    labels = obj["metadata"].get("labels")
    paths = FIELDS.get(resource) or selectable(resource)
    fields = {path: text for path, read in _readers(resource, paths) if (text := read(obj))}
    return (
        SelectableFields(labels or NO_SELECTABLE_FIELDS.labels, fields or NO_SELECTABLE_FIELDS.fields)
        if labels or fields
        else NO_SELECTABLE_FIELDS
    )


Reader = Callable[[Object], str]

_PARTICULAR: dict[tuple[str, str], Reader] = {
    ("events", "source"): lambda obj: str(obj.get("source", {}).get("component") or obj.get("reportingComponent", "")),
    ("events", "reportingComponent"): lambda obj: str(obj.get("reportingComponent", "")),
    ("jobs.batch", "status.successful"): lambda obj: str(obj.get("status", {}).get("succeeded", 0)),
}


@functools.lru_cache(maxsize=256)
def _readers(resource: str, paths: tuple[str, ...]) -> tuple[tuple[str, Reader], ...]:
    return tuple((path, _PARTICULAR.get((resource, path)) or _reader(path)) for path in paths)


def _reader(path: str) -> Reader:
    parts, flag = path.split("."), path in ("spec.hostNetwork", "spec.unschedulable")

    def read(obj: Object) -> str:
        value: Any = obj
        for part in parts:
            value = value.get(part) if isinstance(value, dict) else None
        if flag:
            return "true" if value else "false"
        return "" if value is None else str(value)

    return read


def _field(info: ResourceInfo, name: str) -> str:
    """The path that a name means in this version of the resource."""
    own = FIELDS.get(info.store_name)
    path = RENAMED[info.group].get(name, "") if info.group in RENAMED else name
    if path in NAMES or path in (own or ()) or path in info.selectable:
        return path
    if own is None and info.definition is None:
        raise bad_request(f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"')
    if info.kind == "Job":
        raise bad_request(f'field label "{name}" not supported for Job')
    raise bad_request(f"field label not supported: {name}")


class SelectionPredicate(NamedTuple):
    """A selector of labels and one of fields. An empty one matches everything."""

    labels: tuple[selectors.Requirement, ...] = ()
    fields: tuple[selectors.Requirement, ...] = ()

    def matches(self, record: Record) -> bool:
        if self.labels and not selectors.matches(self.labels, record.selectable.labels):
            return False
        return all(selectors.evaluate(each.operator, value(record, each.key), each.values) for each in self.fields)

    def named(self, name: str) -> SelectionPredicate:
        """The same, of one object alone; an empty name changes nothing."""
        if not name:
            return self
        return self._replace(fields=(*self.fields, selectors.Requirement("metadata.name", selectors.EQUALS, (name,))))

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)


EVERYTHING = SelectionPredicate()


def selector(query: Query, info: ResourceInfo) -> SelectionPredicate:
    """Raises a 400 for a malformed selector, and for a field that cannot be selected by."""
    labels, fields = query.text("labelSelector"), query.text("fieldSelector")
    if not labels and not fields:
        return EVERYTHING
    try:
        by_fields = selectors.parse_fields(fields, lambda name: _field(info, name))
        return SelectionPredicate(selectors.parse_labels(labels), by_fields)
    except selectors.SelectorError as error:
        raise bad_request(str(error)) from None


def matches(predicate: SelectionPredicate, record: Record) -> bool:
    return predicate.matches(record)


def value(record: Record, path: str) -> str:
    if path == "metadata.name":
        return record.key.name
    if path == "metadata.namespace":
        return record.key.namespace
    return record.selectable.fields.get(path, "")
