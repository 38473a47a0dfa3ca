"""The manifest of a job that runs again, and its name."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from traincrew.apimachinery.redaction import LAST_APPLIED

RERUN_OF = "traincrew.kubeflow.org/rerun-of"
_NUMBER = re.compile(r"-(\d{1,4})$")
MAX_NAME = 63


def manifest(document: dict[str, Any]) -> dict[str, Any]:
    """What a new job needs to be the same job: no status, no identity, not suspended."""
    meta = document.get("metadata") or {}
    kept = {key: meta[key] for key in ("name", "namespace", "labels") if meta.get(key)}
    annotations = {key: value for key, value in (meta.get("annotations") or {}).items() if key != LAST_APPLIED}
    if annotations:
        kept["annotations"] = annotations
    spec = dict(document.get("spec") or {})
    if isinstance(spec.get("runPolicy"), dict):
        spec["runPolicy"] = {key: value for key, value in spec["runPolicy"].items() if key != "suspend"}
    return {"apiVersion": document["apiVersion"], "kind": document["kind"], "metadata": kept, "spec": spec}


def submitted(document: dict[str, Any]) -> dict[str, Any]:
    """What `kubectl apply` was given last: it keeps a copy. Other clients keep none, and the manifest stands for it."""
    applied = _applied((document.get("metadata") or {}).get("annotations") or {})
    return _arranged(applied, document) if applied is not None else manifest(document)


def _applied(annotations: dict[str, Any]) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(annotations.get(LAST_APPLIED, ""))
    except msgspec.DecodeError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        return None
    return found


def _arranged(value: Any, model: Any) -> Any:
    """Fields in the order of the model, so that a comparison shows what is different and not what is elsewhere."""
    if isinstance(value, dict) and isinstance(model, dict):
        known = [key for key in model if key in value]
        keys = [*known, *(key for key in value if key not in model)]
        return {key: _arranged(value[key], model.get(key)) for key in keys if key != "annotations" or value[key]}
    if isinstance(value, list) and isinstance(model, list):
        return [_arranged(each, model[index] if index < len(model) else None) for index, each in enumerate(value)]
    return value


def renamed(document: dict[str, Any], name: str) -> dict[str, Any]:
    meta = document["metadata"]
    annotations = {**meta.get("annotations", {}), RERUN_OF: meta["name"]}
    return {**document, "metadata": {**meta, "name": name, "annotations": annotations}}


def next_name(name: str, taken: set[str]) -> str:
    """`mnist-2` for `mnist`, `mnist-3` for `mnist-2`; a number that is free."""
    found = _NUMBER.search(name)
    base, number = (name[: found.start()], int(found[1])) if found is not None else (name, 1)
    while True:
        number += 1
        suffix = f"-{number}"
        candidate = base[: MAX_NAME - len(suffix)].rstrip("-.") + suffix
        if candidate not in taken:
            return candidate
