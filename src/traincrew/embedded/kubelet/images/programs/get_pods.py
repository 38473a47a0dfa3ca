"""`kubectl get pods`, for init containers and scripts."""

import json
import sys
from typing import Any

from traincrew.embedded.kubelet.images.programs import api, jsonpath

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PODS = ("pods", "pod", "po")


def get(access: api.ApiAccess, words: list[str], selector: str, output: str) -> None:
    kind, _, name = words[0].partition("/") if words else ("", "", "")
    names = [name] if name else words[1:]
    if kind not in _PODS:
        raise api.CommandError(f'error: this kubectl supports pods only, not "{kind}"')
    path = f"/api/v1/namespaces/{access.namespace}/pods"
    if len(names) == 1:
        path += f"/{api.quoted(names[0])}"
    elif names:
        raise api.CommandError("error: at most one pod name is supported")
    elif selector:
        path += f"?labelSelector={api.quoted(selector)}"
    status, body = api.get(access, path, TABLE if not output else "application/json")
    if status != 200:
        raise api.status_error(status, body)
    sys.stdout.write(_format(json.loads(body), output))


def _format(response: Any, output: str) -> str:
    form, _, template = output.partition("=")
    if not output:
        return _table(response)
    if form == "json":
        return json.dumps(response, indent=4) + "\n"
    if form == "name":
        return "".join(f"pod/{each['metadata']['name']}\n" for each in response.get("items", [response]))
    if form == "jsonpath":
        try:
            return jsonpath.render(template.strip("'"), response)
        except ValueError as error:
            raise api.CommandError(f"error: error parsing jsonpath {template}, {error}") from None
    raise api.CommandError(f'error: unable to match a printer suitable for the output format "{form}"')


def _table(response: Any) -> str:
    columns = [index for index, column in enumerate(response["columnDefinitions"]) if not column.get("priority")]
    rows = [[response["columnDefinitions"][index]["name"].upper() for index in columns]]
    rows += [[str(row["cells"][index]) for index in columns] for row in response.get("rows") or ()]
    if len(rows) == 1:
        sys.stderr.write("No resources found.\n")
        return ""
    widths = [max(len(row[at]) for row in rows) + 3 for at in range(len(columns))]
    return "".join("".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)  # noqa: B905
