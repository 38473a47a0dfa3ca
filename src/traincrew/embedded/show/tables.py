"""Server-side tables: objects as rows for people to read."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from traincrew.embedded.served import Object, Served
from traincrew.embedded.show import custom
from traincrew.embedded.show.ages import Ages
from traincrew.embedded.show.columns import Printer, heads
from traincrew.embedded.show.partial import partial
from traincrew.embedded.show.rows import autoscalers, cluster, events, network, pods, storage, workloads
from traincrew.embedded.show.rows.fields import Fields, Metadata

Include = Literal["None", "Metadata", "Object"]
META = "meta.k8s.io/v1"


class _Named(Fields):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


def _created(kept: _Named, ages: Ages) -> list[Any]:
    return [kept.metadata.name, kept.metadata.creation_timestamp]


_PLAIN = Printer(heads("Name", "Created At:date"), _Named, _created)
_PRINTERS: dict[tuple[str, str], Printer] = {
    **pods.PRINTERS,
    **workloads.PRINTERS,
    **autoscalers.PRINTERS,
    **network.PRINTERS,
    **storage.PRINTERS,
    **cluster.PRINTERS,
    **events.PRINTERS,
}


def table(
    served: Served, objects: Sequence[Object | bytes], *, include: Include, now: datetime.datetime, list_metadata: Object
) -> Object:
    """A Table. Objects given as bytes are decoded no further than their rows need; they come back as msgspec.Raw inside."""
    ages = Ages(now)
    if served.definition is not None:
        columns, cells = custom.columns(served), _custom_rows(served, ages)
    else:
        printer = _PRINTERS.get((served.group, served.kind), _PLAIN)
        columns, cells = list(printer.columns), _builtin_rows(printer, ages)
    shown = _SHOWN[include]
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": list_metadata,
        "columnDefinitions": columns,
        "rows": [{**cells(kept), "object": shown(kept)} for kept in objects],
    }


def without_columns(table: Object) -> Object:
    """For all events of a watch but the first."""
    return table | {"columnDefinitions": None}


def in_version(table: Object, version: str) -> Object:
    """A table for those who ask for meta.k8s.io/v1beta1."""
    group_version = f"meta.k8s.io/{version}"
    rows = []
    for row in table["rows"]:
        kept = row["object"]
        if isinstance(kept, dict) and kept.get("kind") == "PartialObjectMetadata":
            row = row | {"object": kept | {"apiVersion": group_version}}
        rows.append(row)
    return table | {"apiVersion": group_version, "rows": rows}


_Rows = Callable[[Object | bytes], Object]


def _builtin_rows(printer: Printer, ages: Ages) -> _Rows:
    decode, cells, conditions = msgspec.json.Decoder(printer.type).decode, printer.cells, printer.conditions

    def row(kept: Object | bytes) -> Object:
        try:
            read = decode(kept) if isinstance(kept, bytes) else msgspec.convert(kept, printer.type)
        except msgspec.ValidationError:
            read = msgspec.convert(_without_nulls(_decoded(kept)), printer.type)
        found: Object = {"cells": cells(read, ages)}
        if conditions is not None and (ended := conditions(read)):
            found["conditions"] = ended
        return found

    return row


def _custom_rows(served: Served, ages: Ages) -> _Rows:
    cells = custom.Cells(served, ages)
    return lambda kept: {"cells": cells.of(_decoded(kept))}


def _decoded(kept: Object | bytes) -> Object:
    return msgspec.json.decode(kept) if isinstance(kept, bytes) else kept


def _without_nulls(value: Any) -> Any:
    """A null means the same as a field that is not there."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value


_SHOWN: dict[str, Callable[[Object | bytes], Any]] = {
    "None": lambda kept: None,
    "Metadata": partial,
    "Object": lambda kept: msgspec.Raw(kept) if isinstance(kept, bytes) else kept,
}
