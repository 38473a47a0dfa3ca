"""Writes the contract between the console and its page from `traincrew.console.contract`. `make generate` runs it.

It writes the JSON schema and the TypeScript types of all messages to `web/src/api/`.
"""

from __future__ import annotations

import json
import pathlib
import re
import typing
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from traincrew.console import contract
from traincrew.console.contract import (
    cluster,
    environments,
    history,
    job_detail,
    jobs,
    logs,
    metrics,
    problems,
    queues,
    replica_detail,
    replica_variables,
    replicas,
    requests,
    scheduling_fit,
    stream,
    tensorboard,
    terminal,
)

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = ROOT / "web" / "src" / "api"
RESPONSES: tuple[type, ...] = (
    cluster.SessionInfo, cluster.Capabilities, cluster.NodeList, jobs.JobList, job_detail.JobDetail, replica_detail.ReplicaDetail,
    replica_detail.ReplicaPage, history.RecordedJobList, history.RecordedObjectList, history.JobRecording,
    history.ConditionHistory,
    history.OpenedRecording, history.OpenedRecordingList,
    job_detail.YamlDocument, logs.LogPage,
    metrics.JobMetrics, metrics.PatternMatches, queues.QueueList, requests.SubmitResult, replica_variables.Passports,
    scheduling_fit.Fits, scheduling_fit.Simulation, environments.EnvironmentList, tensorboard.TensorBoardInfo,
    requests.Link, requests.SignInOptions, requests.ActionResult, problems.ApiError, *typing.get_args(stream.ConsoleMessage),
    *typing.get_args(terminal.TerminalOutput),
)  # fmt: skip
REQUESTS: tuple[type, ...] = (
    requests.SignIn, requests.Scale, requests.Rerun, requests.Delete, metrics.TryPattern, scheduling_fit.WhatIf,
    tensorboard.StartTensorBoard, *typing.get_args(stream.PageMessage),
    *typing.get_args(terminal.TerminalInput),
)  # fmt: skip
UNIONS = {"ConsoleMessage": stream.ConsoleMessage, "PageMessage": stream.PageMessage,
          "TerminalInput": terminal.TerminalInput, "TerminalOutput": terminal.TerminalOutput}  # fmt: skip
ALIASES = {"Status": jobs.Status, "ReplicaState": replicas.ReplicaState, "PhaseName": replicas.PhaseName,
           "ActionName": job_detail.ActionName, "Level": logs.Level, "SignInMethod": requests.SignInMethod}  # fmt: skip
HEAD = """// Written by `make generate` from src/traincrew/console/contract/. Do not edit it.

"""
Schema = Mapping[str, Any]


def schema() -> dict[str, Any]:
    """JSON schema 2020-12 of all messages, by name. Every property of a response is required."""
    responses = _components(RESPONSES)
    for definition in responses.values():
        definition["required"] = list(definition["properties"])
    definitions = responses | _components(REQUESTS)
    descriptions = _field_descriptions()
    for name, definition in definitions.items():
        definition.pop("title", None)
        for field, value in definition["properties"].items():
            value.pop("default", None)
            if text := descriptions.get((name, field)):
                value["description"] = text
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": dict(sorted(definitions.items()))}


def _components(types: Iterable[type]) -> dict[str, dict[str, Any]]:
    _, components = msgspec.json.schema_components(list(types), ref_template="#/$defs/{name}")
    return dict(components)


_CLASS = re.compile(r"^class (\w+)\(", re.MULTILINE)
_DESCRIBED = re.compile(r'^    (\w+): [^\n]*\n    """(.*?)"""', re.MULTILINE | re.DOTALL)


def _field_descriptions() -> dict[tuple[str, str], str]:
    """The texts below the fields, by class and JSON name. Python does not keep them, hence they are read from the source."""
    found = {}
    for path in pathlib.Path(contract.__path__[0]).glob("*.py"):
        parts = _CLASS.split(path.read_text(encoding="utf-8"))[1:]
        for name, part in zip(parts[::2], parts[1::2], strict=True):
            for field, words in _DESCRIBED.findall(part):
                found[name, _camel(field)] = " ".join(words.split())
    return found


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def typescript() -> str:
    parts = [f"export type {name} = {' | '.join(json.dumps(each) for each in typing.get_args(type_))}\n"
             for name, type_ in ALIASES.items()]  # fmt: skip
    parts += [_interface(name, definition) for name, definition in schema()["$defs"].items()]
    parts += [f"export type {name} =\n{_alternatives(union)}\n" for name, union in UNIONS.items()]
    return HEAD + "\n".join(parts)


def _alternatives(union: Any) -> str:
    return "\n".join(f"  | {each.__name__}" for each in typing.get_args(union))


def _interface(name: str, definition: Schema) -> str:
    lines = [*_comment(definition.get("description", ""), ""), f"export interface {name} {{"]
    for field, value in definition["properties"].items():
        optional = "" if field in definition["required"] else "?"
        lines += [*_comment(value.get("description", ""), "  "), f"  {field}{optional}: {_type(value)}"]
    return "\n".join([*lines, "}", ""])


def _comment(text: str, indent: str) -> list[str]:
    return [f"{indent}/** {' '.join(text.split()).replace('*/', '* /')} */"] if text else []


def _type(value: Schema) -> str:
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if "anyOf" in value:
        return " | ".join(dict.fromkeys(_type(each) for each in value["anyOf"]))
    if "enum" in value:
        return _literal(value["enum"])
    if "const" in value:
        return json.dumps(value["const"])
    return _plain(value)


def _literal(values: list[Any]) -> str:
    alias = [name for name, type_ in ALIASES.items() if set(typing.get_args(type_)) == set(values)]
    return alias[0] if alias else " | ".join(json.dumps(each) for each in values)


def _plain(value: Schema) -> str:
    if "type" not in value:
        return "unknown"
    if value["type"] == "array":
        inner = _type(value["items"])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if value["type"] == "object":
        return f"Record<string, {_type(value.get('additionalProperties') or {})}>"
    return {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}[value["type"]]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "contract.schema.json").write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")
    (FOLDER / "contract.gen.ts").write_text(typescript(), encoding="utf-8")


if __name__ == "__main__":
    main()
