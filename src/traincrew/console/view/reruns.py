"""The manifest of a job that runs again, and its name."""

from __future__ import annotations

import re
from typing import Any

RERUN_OF = "traincrew.kubeflow.org/rerun-of"
_DROPPED = ("kubectl.kubernetes.io/last-applied-configuration",)
_NUMBER = re.compile(r"-(\d{1,4})$")
MAX_NAME = 63


def manifest(document: dict[str, Any]) -> dict[str, Any]:
    """What a new job needs to be the same job: no status, no identity, not suspended."""
    meta = document.get("metadata") or {}
    kept = {key: meta[key] for key in ("name", "namespace", "labels") if meta.get(key)}
    annotations = {key: value for key, value in (meta.get("annotations") or {}).items() if key not in _DROPPED}
    if annotations:
        kept["annotations"] = annotations
    spec = dict(document.get("spec") or {})
    if isinstance(spec.get("runPolicy"), dict):
        spec["runPolicy"] = {key: value for key, value in spec["runPolicy"].items() if key != "suspend"}
    return {"apiVersion": document["apiVersion"], "kind": document["kind"], "metadata": kept, "spec": spec}


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
