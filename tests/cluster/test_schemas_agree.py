"""Decoding, defaulting and validation of requests, compared with the real API server.

TRAINCREW_FUZZ_BODIES is how many random bodies of built-in kinds are sent (600 if unset).
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
from tests.cluster.api import Api, eventually
from tests.embedded.apiserver.schema import crd_cases, malformed_bodies, random_objects, widget_crd

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import builtin_kinds, crd_validation, custom_resources, decoding
from traincrew.embedded.apiserver.schema import crds as schema_crds

NUMBER = int(os.environ.get("TRAINCREW_FUZZ_BODIES", "600"))
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def widget_api(api: Api) -> Iterator[Api]:
    """The API server with the CRD of the widgets."""
    crd = widget_crd.definition()
    name = crd["metadata"]["name"]
    api.session.post(api.server + CRDS, json=crd, timeout=60)
    eventually(lambda: api.call("GET", f"/apis/{widget_crd.GROUP}/v1/widgets")["items"] is not None)
    yield api
    api.session.delete(f"{api.server}{CRDS}/{name}", timeout=60)


def test_every_body_of_a_built_in_kind_is_read_alike(api: Api, namespace: str) -> None:
    differences = []
    for seed in range(NUMBER):
        group, version, kind, plural = random_objects.KINDS[seed % len(random_objects.KINDS)]
        schema = builtin_kinds.load().schema(group, version, kind)
        expected = decoding.Expected(kind, f"{group}/{version}" if group else version)
        text = random_objects.manifest(seed, schema, expected.api_version, kind)
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        path = f"{root}/namespaces/{namespace}/{plural}"
        validation = ("Strict", "Warn", "Ignore")[seed % 3]
        answer = posted(api, path, text.encode(), validation)
        differences += compared(answer, read(text.encode(), schema, expected, validation), text)
    assert not differences, f"{len(differences)} differences; the smallest:\n{min(differences, key=len)}"


@pytest.mark.parametrize("validation", ["Strict", "Warn"])
@pytest.mark.parametrize("kind", ["Pod", "Secret", "ConfigMap", "Widget"])
def test_strange_bodies_are_read_alike(widget_api: Api, namespace: str, kind: str, validation: str) -> None:
    if kind == "Widget":
        path, schema = f"/apis/{widget_crd.GROUP}/v1/namespaces/{namespace}/widgets", widget_crd.served().schema
        expected = decoding.Expected("Widget", f"{widget_crd.GROUP}/v1")
    else:
        path, schema = f"/api/v1/namespaces/{namespace}/{kind.lower()}s", builtin_kinds.load().schema("", "v1", kind)
        expected = decoding.Expected(kind, "v1")
    differences = []
    for content, body in malformed_bodies.malformed(expected.kind, expected.api_version):
        answer = posted(widget_api, path, body, validation, content)
        differences += compared(answer, read(body, schema, expected, validation, content), repr(body))
    assert not differences, f"{len(differences)} differences; the smallest:\n{min(differences, key=len)}"


def test_every_value_of_every_field_gets_the_same_result(widget_api: Api, namespace: str) -> None:
    differences = []
    for name in widget_crd.FIELDS:
        for value in widget_crd.VALUES:
            differences += judged(widget_api, namespace, widget_crd.widget(**{name: value}))
    assert not differences, f"{len(differences)} differences; the smallest:\n{min(differences, key=len)}"


def test_several_violations_at_once_get_the_same_result(widget_api: Api, namespace: str) -> None:
    differences = []
    for seed in range(300):
        chance = random.Random(seed)
        names = chance.sample([*widget_crd.FIELDS, "unknown"], chance.randrange(2, 6))
        differences += judged(
            widget_api, namespace, widget_crd.widget(**{name: chance.choice(widget_crd.VALUES) for name in names})
        )
    assert not differences, f"{len(differences)} differences; the smallest:\n{min(differences, key=len)}"


def test_every_change_gets_the_same_result(widget_api: Api, namespace: str) -> None:
    """Faults that were there before are forgiven, and rules see what a value was."""
    path = f"/apis/{widget_crd.GROUP}/v1/namespaces/{namespace}/widgets"
    differences = []
    for seed in range(200):
        chance = random.Random(seed)
        old = widget_crd.widget(
            ruled={"fixed": "x", "min": 1}, growing=3, ports=[{"name": "a", "port": 1}, {"name": "b"}], tags=["a", "b"]
        )
        old["metadata"]["name"] = f"w{seed}"
        stored = widget_api.call("POST", path, old)
        new = json.loads(json.dumps(stored))
        for name in chance.sample(["ruled", "growing", "ports", "tags", "color", "all"], 2):
            new["spec"][name] = chance.choice(widget_crd.VALUES)
        differences += changed(widget_api, f"{path}/w{seed}", stored, new)
    assert not differences, f"{len(differences)} differences; the smallest:\n{min(differences, key=len)}"


@pytest.mark.parametrize("crd", [pytest.param(crd, id=name) for name, crd in crd_cases.cases()])
def test_a_definition_gets_the_same_result(api: Api, crd: Object) -> None:
    body = json.dumps(crd).encode()
    schema = builtin_kinds.load().schema("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    expected = decoding.Expected("CustomResourceDefinition", "apiextensions.k8s.io/v1")
    answer = posted(api, CRDS, body, "Strict")
    ours = read(body, schema, expected, "Strict")
    if isinstance(ours, decoding.Decoded):
        schema_crds.default(ours.object)
        ours.object["status"] = {"storedVersions": schema_crds.stored_versions(ours.object)}
        faults = crd_validation.validate(ours.object)
        assert answer.status_code == (422 if faults else 201), answer.text
        assert causes(answer) == as_causes(faults)
    else:
        assert (answer.status_code, answer.json()["message"]) == (ours.code, ours.message)


def test_a_definition_is_accepted_with_the_same_status(widget_api: Api) -> None:
    theirs = widget_api.call("GET", f"{CRDS}/widgets.{widget_crd.GROUP}")
    crd = widget_crd.definition()
    schema_crds.default(crd)
    ours = schema_crds.accept_names(crd, [], "now")
    assert without_times(ours) == without_times(theirs["status"])
    assert crd["spec"]["names"] == theirs["spec"]["names"]


def posted(api: Api, path: str, body: bytes, validation: str, content: str = "application/json") -> requests.Response:
    query = {"dryRun": "All", "fieldValidation": validation}
    return api.session.post(api.server + path, data=body, params=query, headers={"Content-Type": content}, timeout=60)


Read = decoding.Decoded | api_errors.StatusError


def read(body: bytes, schema: Schema, expected: decoding.Expected, validation: Any, content: str = "application/json") -> Read:
    try:
        return decoding.decode(body, content, schema, expected, validation)
    except api_errors.StatusError as rejection:
        return rejection


def compared(answer: requests.Response, ours: Read, what: str) -> list[str]:
    """What is different about how a body was read; that others refuse it later is none of this."""
    theirs = answer.json()
    if isinstance(ours, api_errors.StatusError):
        same = (answer.status_code, theirs.get("message")) == (ours.code, ours.message)
        return [] if same else [f"{what}\ntheirs: {answer.status_code} {theirs.get('message')}\nours: {ours.message}"]
    if answer.status_code == 400:
        return [f"{what}\ntheirs: {theirs['message']}\nours: accepted"]
    heard = [text for text in warnings(answer) if re.match("unknown field|duplicate field|line ", text)]
    if answer.status_code == 201 and heard != list(ours.warnings):
        return [f"{what}\ntheirs: {heard}\nours: {ours.warnings}"]
    return []


def warnings(answer: requests.Response) -> list[str]:
    header = answer.headers.get("Warning", "").encode("latin-1").decode()
    return [re.sub(r"\\(.)", r"\1", found) for found in re.findall(r'299 - "((?:[^"\\]|\\.)*)"', header)]


def judged(api: Api, namespace: str, body: Object) -> list[str]:
    served, expected = widget_crd.served(), decoding.Expected("Widget", f"{widget_crd.GROUP}/v1")
    text = json.dumps(body).encode()
    answer = posted(api, f"/apis/{widget_crd.GROUP}/v1/namespaces/{namespace}/widgets", text, "Warn")
    ours = read(text, served.schema, expected, "Warn")
    if isinstance(ours, api_errors.StatusError):
        return compared(answer, ours, text.decode())
    custom_resources.default(ours.object, served.schema)
    return verdict(answer, custom_resources.validate(ours.object, served), ours.object, text.decode())


def changed(api: Api, path: str, old: Object, new: Object) -> list[str]:
    served, text = widget_crd.served(), json.dumps(new).encode()
    answer = api.session.put(
        f"{api.server}{path}?dryRun=All", data=text, headers={"Content-Type": "application/json"}, timeout=60
    )
    ours = read(text, served.schema, decoding.Expected("Widget", f"{widget_crd.GROUP}/v1"), "Warn")
    if isinstance(ours, api_errors.StatusError):
        return compared(answer, ours, text.decode())
    custom_resources.default(ours.object, served.schema)
    return verdict(answer, custom_resources.validate_update(ours.object, old, served), ours.object, json.dumps(new["spec"]))


def verdict(answer: requests.Response, faults: list[FieldError], obj: Object, what: str) -> list[str]:
    if answer.status_code in (200, 201):
        same = not faults and numbers(answer.json()["spec"]) == numbers(obj["spec"])
    else:
        same = answer.status_code == 422 and causes(answer) == as_causes(faults)
    return (
        []
        if same
        else [f"{what}\ntheirs: {answer.status_code} {answer.json().get('message')}\nours: {sorted(as_causes(faults))}"]
    )


def causes(answer: requests.Response) -> set[tuple[str, str]]:
    found = (answer.json().get("details") or {}).get("causes", ())
    return {(cause["field"], cause["message"]) for cause in found}


def as_causes(faults: list[FieldError]) -> set[tuple[str, str]]:
    return {(fault.path, fault.message) for fault in faults}


def numbers(value: Any) -> Any:
    """Equal for what is equal in JSON."""
    return json.loads(json.dumps(value), parse_int=float)


def without_times(status: Object) -> Object:
    conditions = [{key: value for key, value in each.items() if key != "lastTransitionTime"} for each in status["conditions"]]
    return {**status, "conditions": conditions}
