"""-o json, -o yaml and -o name: objects as the API has them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from traincrew.cli.render import terminal


def show(value: Any, form: str) -> None:
    terminal.echo_unchanged(dump(value, form), nl=False)


def dump(value: Any, form: str) -> str:
    if form == "json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    import yaml

    text: str = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=130)
    return text


def list_entry(value: Any, form: str) -> str:
    """One of many values that are printed as they arrive: a line of JSON, or an entry of a YAML list."""
    return f"{json.dumps(value, ensure_ascii=False)}\n" if form == "json" else dump([value], form)


def name(document: dict[str, Any]) -> str:
    """The name of an object as kubectl prints it: `pytorchjob.kubeflow.org/mnist`, `pod/mnist-worker-0`."""
    group = document["apiVersion"].rpartition("/")[0]
    return f"{document['kind'].lower()}{'.' if group else ''}{group}/{document['metadata']['name']}"


def names(documents: Iterable[dict[str, Any]]) -> str:
    return "".join(f"{name(each)}\n" for each in documents)


def as_list(objects: list[Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": objects}
