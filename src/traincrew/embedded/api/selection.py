"""Which records a request is about: its selectors, and the fields that each resource can be selected by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from traincrew.embedded.api import selectors
from traincrew.embedded.api.queries import Query
from traincrew.embedded.served import Object, Served
from traincrew.embedded.store.records import Facts, Record

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

NO_FACTS = Facts({}, {})


def describe(resource: str, obj: Object, selectable: Callable[[str], tuple[str, ...]]) -> Facts:
    """What selectors ask about, kept beside the stored bytes."""
    labels = obj["metadata"].get("labels")
    paths = FIELDS.get(resource) or selectable(resource)
    fields = {path: text for path in paths if (text := _text(resource, path, obj))}
    return Facts(labels or NO_FACTS.labels, fields or NO_FACTS.fields) if labels or fields else NO_FACTS


def _text(resource: str, path: str, obj: Object) -> str:
    if (resource, path) == ("events", "source"):
        return str(obj.get("source", {}).get("component") or obj.get("reportingComponent", ""))
    if (resource, path) == ("events", "reportingComponent"):
        return str(obj.get("reportingComponent", ""))
    if (resource, path) == ("jobs.batch", "status.successful"):
        return str(obj.get("status", {}).get("succeeded", 0))
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if path in ("spec.hostNetwork", "spec.unschedulable"):
        return "true" if value else "false"
    return "" if value is None else str(value)


def supported(served: Served, path: str) -> bool:
    return path in NAMES or path in FIELDS.get(served.store_name, ()) or path in served.selectable


def selector(query: Query, served: Served) -> selectors.Selector:
    labels, fields = query.text("labelSelector"), query.text("fieldSelector")
    if not labels and not fields:
        return selectors.EVERYTHING
    return selectors.Selector(
        selectors.parse_labels(labels), selectors.parse_fields(fields, lambda path: supported(served, path))
    )


def matches(wanted: selectors.Selector, record: Record) -> bool:
    return wanted.matches(record.facts.labels, lambda path: value(record, path))


def value(record: Record, path: str) -> str:
    if path == "metadata.name":
        return record.key.name
    if path == "metadata.namespace":
        return record.key.namespace
    return record.facts.fields.get(path, "")
