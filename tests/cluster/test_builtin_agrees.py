"""Validation of the built-in kinds, compared with the real API server on hundreds of objects and updates.

Whatever both accept is compared as it is stored, whatever both refuse by its causes. TRAINCREW_RECORD names a file that the
API server's answers are written to, for the tests that replay them.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from tests.cluster.api import Api
from tests.embedded.apiserver.registry import object_edits
from tests.embedded.apiserver.registry.comparison import ServerResponse, StrategyCase, differences
from tests.embedded.apiserver.registry.object_edits import Object

PAIRS = int(os.environ.get("TRAINCREW_PAIRS", "20"))
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


class StrategyServer:
    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace, self.count = api, namespace, 0

    def name(self) -> str:
        self.count += 1
        return f"c{self.namespace[-6:]}-{self.count}"

    def send(self, verb: str, path: str, body: Any = None) -> ServerResponse:
        data = json.dumps(body) if body is not None else None
        headers = {"Content-Type": "application/json"}
        response = self.api.session.request(verb, self.api.server + path, data=data, headers=headers, timeout=60)
        return ServerResponse(response.status_code, response.json(), warnings_of(response))

    def path(self, obj: Object, name: str = "", sub: str = "") -> str:
        version = obj["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        place = "" if obj["kind"] in object_edits.CLUSTER_SCOPED else f"/namespaces/{self.namespace}"
        return "/".join(part for part in (root + place, object_edits.plural(obj["kind"]), name, sub) if part)

    def delete(self, obj: Object) -> None:
        path = self.path(obj, obj["metadata"]["name"].replace("%", "%25"))
        if obj["metadata"].get("finalizers"):
            self.api.call("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        self.send("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        if obj["kind"] == "Namespace":  # there is no controller that would end it
            ended = {**obj, "metadata": {"name": obj["metadata"]["name"]}, "spec": {"finalizers": []}}
            self.send("PUT", f"{path}/finalize", ended)

    def prepared(self, kind: str) -> Object:
        obj = json.loads(json.dumps(object_edits.base(kind)).replace("NAMESPACE", self.namespace))
        obj["metadata"]["name"] = self.name()
        if kind not in object_edits.CLUSTER_SCOPED:
            obj["metadata"]["namespace"] = self.namespace
        found: Object = obj
        return found

    def created(self, kind: str, line: str) -> StrategyCase:
        sent = object_edits.edited(self.prepared(kind), line)
        answer = self.send("POST", self.path(sent), sent)
        if answer.accepted:
            self.delete(answer.body)
        return StrategyCase(kind, line, "create", sent, None, answer)

    def updated(self, kind: str, line: str, verb: str) -> StrategyCase:
        base = self.prepared(kind)
        first = self.send("POST", self.path(base), base)
        assert first.accepted, first.body
        sent = object_edits.edited(first.body, line)
        sub = "status" if verb == "status" else ""
        answer = self.send("PUT", self.path(base, base["metadata"]["name"], sub), sent)
        self.delete(answer.body if answer.accepted else first.body)
        return StrategyCase(kind, line, verb, sent, first.body, answer)


def warnings_of(response: requests.Response) -> tuple[str, ...]:
    return tuple(json.loads(f'"{text}"') for text in _WARNING.findall(response.headers.get("Warning", "")))


def cases(server: StrategyServer, kind: str) -> Iterator[StrategyCase]:
    for line in object_edits.edits(kind, "create"):
        yield server.created(kind, line)
    for verb in ("update", "status"):
        for line in object_edits.edits(kind, verb):
            yield server.updated(kind, line, verb)


@pytest.mark.parametrize("kind", object_edits.kinds())
def test_our_rules_and_the_api_server_agree(api: Api, namespace: str, kind: str) -> None:
    found = [*cases(StrategyServer(api, namespace), kind)]
    record(found)
    check(found)


@pytest.mark.parametrize("kind", object_edits.kinds())
def test_they_agree_on_objects_with_two_violations(api: Api, namespace: str, kind: str) -> None:
    server, lines = StrategyServer(api, namespace), object_edits.edits(kind, "create")[1:]
    lots = random.Random(kind)
    pairs = (" ; ".join(lots.sample(lines, 2)) for _ in range(PAIRS))
    check([server.created(kind, line) for line in pairs if object_edits.is_applicable(kind, line)])


def check(found: list[StrategyCase]) -> None:
    wrong = [(case, differing) for case in found if (differing := differences(case))]
    report = "\n\n".join("\n  ".join([case.title, *differing]) for case, differing in wrong)
    assert not wrong, f"{len(wrong)} of {len(found)} differ:\n{report}"


def record(found: list[StrategyCase]) -> None:
    if place := os.environ.get("TRAINCREW_RECORD"):
        with open(place, "a") as file:
            for case in found:
                line = [case.kind, case.line, case.verb, case.sent, case.old, case.real.code, case.real.body, case.real.warnings]
                file.write(json.dumps(line) + "\n")
