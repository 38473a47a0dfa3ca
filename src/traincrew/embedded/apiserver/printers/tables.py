"""Server-side tables: objects as rows."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from traincrew.apimachinery.api_errors import bad_request
from traincrew.apimachinery.durations import Ages
from traincrew.apimachinery.field_errors import invalid
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.printers import custom_columns, partial_metadata
from traincrew.embedded.apiserver.printers.builtin import autoscalers, cluster_objects, events, network, pods, storage, workloads
from traincrew.embedded.apiserver.printers.builtin.cells import Fields, Metadata
from traincrew.embedded.apiserver.printers.columns import Printer, definitions


class _Named(Fields):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


def _created(kept: _Named, ages: Ages) -> list[Any]:
    return [kept.metadata.name, kept.metadata.creation_timestamp]


_PLAIN = Printer(definitions("Name", "Created At:date"), _Named, _created)
_PLAIN_COLUMNS = list(_PLAIN.columns)
_PRINTERS: dict[tuple[str, str], Printer] = {
    **pods.PRINTERS,
    **workloads.PRINTERS,
    **autoscalers.PRINTERS,
    **network.PRINTERS,
    **storage.PRINTERS,
    **cluster_objects.PRINTERS,
    **events.PRINTERS,
}


def table(
    info: ResourceInfo,
    objects: Sequence[Object | bytes],
    *,
    include: str,
    now: datetime.datetime,
    version: str = "v1",
    list_metadata: Object | None = None,
) -> Object:
    """A Table. Objects given as bytes are decoded only as far as their rows need, and embedded as msgspec.Raw.

    Without list metadata it is the table of one object, with the resourceVersion of that object.
    """
    columns, rows = _printed(info, Ages(now))
    empty: list[Object] | None = None if columns is _PLAIN_COLUMNS else []
    shown = _shown(include, version)
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": _version_of(objects[0]) if list_metadata is None else list_metadata,
        "columnDefinitions": columns,
        "rows": [{**rows(kept), "object": shown(kept)} for kept in objects] or empty,
    }


def scaled(info: ResourceInfo) -> ResourceInfo:
    """For the table of a Scale: `table(scaled(info), [scale], ...)`."""
    return dataclasses.replace(info, group="autoscaling", version="v1", kind="Scale", definition=None, columns=())


_Rows = Callable[[Object | bytes], Object]


def _printed(info: ResourceInfo, ages: Ages) -> tuple[list[Object], _Rows]:
    if info.definition is not None:
        return custom_columns.columns(info), _custom_rows(info, ages)
    printer = _PRINTERS.get((info.group, info.kind), _PLAIN)
    columns = _PLAIN_COLUMNS if printer is _PLAIN else list(printer.columns)
    return columns, _builtin_rows(printer, ages)


def _shown(include: str, version: str) -> Callable[[Object | bytes], Any]:
    match include:
        case "None":
            return lambda kept: None
        case "Metadata" | "":
            return lambda kept: partial_metadata.object_metadata(kept, version)
        case "Object":
            return lambda kept: msgspec.Raw(kept) if isinstance(kept, bytes) else kept
    error = invalid("includeObject", include, "must be 'Metadata', 'Object', 'None', or empty")
    raise bad_request(f"Unable to convert to Table as requested: {error}")


class _Versioned(msgspec.Struct):
    resource_version: str = msgspec.field(name="resourceVersion", default="")


class _Envelope(msgspec.Struct):
    metadata: _Versioned


def _version_of(kept: Object | bytes) -> Object:
    read = msgspec.json.decode(kept, type=_Envelope) if isinstance(kept, bytes) else msgspec.convert(kept, _Envelope)
    return {"resourceVersion": read.metadata.resource_version} if read.metadata.resource_version else {}


def _builtin_rows(printer: Printer, ages: Ages) -> _Rows:
    decode, cells, conditions = msgspec.json.Decoder(printer.type).decode, printer.cells, printer.conditions

    def row(kept: Object | bytes) -> Object:
        try:
            read = decode(kept) if isinstance(kept, bytes) else msgspec.convert(kept, printer.type)
        except msgspec.ValidationError:
            read = msgspec.convert(_without_nulls(_decoded(kept)), printer.type)
        table_row: Object = {"cells": cells(read, ages)}
        if conditions is not None and (ended := conditions(read)):
            table_row["conditions"] = ended
        return table_row

    return row


def _custom_rows(info: ResourceInfo, ages: Ages) -> _Rows:
    cells = custom_columns.Cells(info, ages)
    return lambda kept: {"cells": cells.of(kept)}


def _decoded(kept: Object | bytes) -> Object:
    return msgspec.json.decode(kept) if isinstance(kept, bytes) else kept


def _without_nulls(value: Any) -> Any:
    """A null means the same as a missing field."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value
