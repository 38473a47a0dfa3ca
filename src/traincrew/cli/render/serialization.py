"""-o json and -o yaml: objects as the API has them."""

from __future__ import annotations

import json
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


def as_list(objects: list[Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": objects}
