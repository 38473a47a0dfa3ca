"""Requests of less than 100 kB that ask for much more work than their size suggests. Run as a program it sends each of them to an
API server in its process and prints a line of JSON for each: what the response was, and what it cost.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.embedded.resilience import in_process_cluster, response_checks
from tests.embedded.resilience.request_generator import RawRequest

from traincrew.embedded.control_plane import ControlPlane

Object = dict[str, Any]

JSON, YAML, APPLY = "application/json", "application/yaml", "application/apply-patch+yaml"
JSON_PATCH, STRATEGIC = "application/json-patch+json", "application/strategic-merge-patch+json"
NAMESPACE = "/api/v1/namespaces/default"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "hostile.example.com"


class Cost(NamedTuple):
    """Of the requests of one case; each figure is that of the most expensive request."""

    case: str
    problem: str
    cpu_seconds: float
    mebibytes: float
    codes: list[int]


def request(method: str, path: str, body: object = b"", content: str = JSON, accept: str = JSON, **query: str) -> RawRequest:
    raw = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    target = f"{path}?{urllib.parse.urlencode(query)}" if query else path
    return RawRequest(method, target, {"Content-Type": content, "Accept": accept}, raw)


def dry_run(path: str, body: object, content: str = JSON) -> RawRequest:
    return request("POST", path, body, content, dryRun="All")


def pod(**container: object) -> Object:
    containers = [{"name": "c", "image": "i", **container}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}


def definition(plural: str, schema: Object, **version: object) -> RawRequest:
    names = {"plural": plural, "kind": plural.capitalize()}
    whole = {"type": "object", "properties": {"spec": schema}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}, **version}]
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions}
    meta = {"name": f"{plural}.{GROUP}"}
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec}
    return request("POST", CRDS, body)


def custom(plural: str, spec: object) -> RawRequest:
    body = {"apiVersion": f"{GROUP}/v1", "kind": plural.capitalize(), "metadata": {"name": "w"}, "spec": spec}
    return request("POST", f"/apis/{GROUP}/v1/namespaces/default/{plural}", body)


def quantities() -> Iterator[RawRequest]:
    for text in (
        "1E1000000",
        "1e-1000000",
        "9" * 5_000,
        "9" * 90_000,
        f"1e{'9' * 90_000}",
        f"0.{'9' * 90_000}",
        f"1{'0' * 90_000}Ki",
    ):
        yield dry_run(f"{NAMESPACE}/pods", pod(resources={"limits": {"cpu": text}}))
        yield dry_run(f"{NAMESPACE}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": text}}})


def copies_in_a_json_patch() -> Iterator[RawRequest]:
    yield request("POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "copied"}, "data": {"a": "x" * 1_000}})
    doubled: list[Object] = [{"op": "add", "path": "/x", "value": [1]}] + [{"op": "copy", "from": "/x", "path": "/x/-"}] * 300
    nested = [{"op": "copy", "from": "/data", "path": f"/data/b{index}"} for index in range(200)]
    long = {"op": "add", "path": "/x", "value": "y" * 50_000}
    many = [{"op": "copy", "from": "/x", "path": f"/data/{index}"} for index in range(900)]
    for operations in (doubled, nested, [long, *many]):
        yield request("PATCH", f"{NAMESPACE}/configmaps/copied", operations, JSON_PATCH)


def numbers() -> Iterator[RawRequest]:
    for number in (b"1e999", b"-1e999", b"9" * 5_000, b"9" * 90_000, b"1e" + b"9" * 50_000):
        for body in (
            number,
            b'{"metadata":%s}' % number,
            b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":%s}' % number,
        ):
            yield dry_run(f"{NAMESPACE}/pods", body)
            yield dry_run(f"{NAMESPACE}/pods", body, YAML)
            yield dry_run(CRDS, body)


def depth() -> Iterator[RawRequest]:
    for levels in (199, 1_000, 10_001, 15_000):
        for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
            deep = opening * levels + b"1" + closing * levels
            yield dry_run(f"{NAMESPACE}/pods", deep)
            yield dry_run(f"{NAMESPACE}/pods", opening * levels)
            yield request("PATCH", f"{NAMESPACE}/pods/a", b'{"spec":' + deep + b"}", STRATEGIC, dryRun="All")
        yield dry_run(f"{NAMESPACE}/pods", "- " * levels + "1", YAML)


def aliases_in_yaml() -> Iterator[RawRequest]:
    lines = [f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 10)]
    yield dry_run(f"{NAMESPACE}/pods", "\n".join(["a0: &a0 [x,x,x,x,x,x,x,x,x,x]", *lines]), YAML)
    yield dry_run(f"{NAMESPACE}/pods", f"a: &a [{'x,' * 2_000}]\nb: [{'*a,' * 20_000}]", YAML)
    merged = f"x: &d {{{','.join(f'k{index}: a' for index in range(3_000))}}}\ndata: {{<<: [{'*d,' * 10_000}]}}"
    yield request("PATCH", f"{NAMESPACE}/configmaps/a", merged, APPLY, dryRun="All", fieldManager="m")


def selectors() -> Iterator[RawRequest]:
    names = [f"v{index}" for index in range(12_000)]
    for selector in (
        ",".join(f"!{name}" for name in names),
        f"a in ({','.join(names)})",
        "(" * 90_000,
        "a" * 90_000,
        "a in (" * 10_000,
    ):
        yield request("GET", f"{NAMESPACE}/configmaps", labelSelector=selector)
        yield request("GET", f"{NAMESPACE}/pods", fieldSelector=selector)


def headers_and_parameters() -> Iterator[RawRequest]:
    yield request("GET", f"{NAMESPACE}/pods", accept=",".join(f"*/*;q=0.{index}" for index in range(1_000, 8_000)))
    yield request("GET", f"{NAMESPACE}/pods?{'&'.join(f'a{index}=b' for index in range(12_000))}")
    yield request("PATCH", f"{NAMESPACE}/configmaps/a", {"data": {}}, APPLY, fieldManager="a" * 90_000)
    yield request("GET", f"{NAMESPACE}/pods", **{"continue": "A" * 90_000})


def lists_in_a_strategic_merge_patch() -> Iterator[RawRequest]:
    names = [{"name": f"E{index}"} for index in range(2_500)]
    yield request("POST", f"{NAMESPACE}/pods", pod(env=names))
    for patch in (
        {"$setElementOrder/env": names[::-1]},
        {"env": [{**name, "$patch": "delete"} for name in names]},
        {"env": [{**name, "value": "x"} for name in names[::-1]]},
    ):
        yield request("PATCH", f"{NAMESPACE}/pods/p", {"spec": {"containers": [{"name": "c", **patch}]}}, STRATEGIC, dryRun="All")


def defaults_of_a_definition() -> Iterator[RawRequest]:
    text = {"type": "string", "default": "x" * 80_000}
    numbers = {"type": "array", "items": {"type": "integer"}, "default": [1] * 10_000}
    for plural, default in (("texts", text), ("numbers", numbers)):
        yield definition(plural, {"type": "array", "items": {"type": "object", "properties": {"d": default}}})
        yield custom(plural, [{}] * 20_000)


def columns_of_a_definition() -> Iterator[RawRequest]:
    columns = [{"name": f"c{index}", "type": "string", "jsonPath": ".spec" + "..a" * 6} for index in range(20)]
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    yield definition("columns", schema, additionalPrinterColumns=columns)
    deep: object = {}
    for _ in range(150):
        deep = {"a": deep, "b": [{}, {}]}
    yield custom("columns", deep)
    yield request("GET", f"/apis/{GROUP}/v1/namespaces/default/columns", accept="application/json;as=Table;v=v1;g=meta.k8s.io")


def rules_of_a_definition() -> Iterator[RawRequest]:
    rules = [{"rule": "self.all(a, self.all(b, self.all(c, a + b + c != '')))"}]
    items = {"type": "string", "maxLength": 10}
    yield definition("bounds", {"type": "array", "maxItems": 20, "items": items, "x-kubernetes-validations": rules})
    yield custom("bounds", ["x"] * 20)
    yield definition("loops", {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": rules})
    yield custom("loops", ["x"] * 9_000)


def patterns_of_a_definition() -> Iterator[RawRequest]:
    yield definition("patterns", {"type": "array", "items": {"type": "string", "pattern": "^(a|a|b?)*$"}})
    yield custom("patterns", ["a" * 900 + "c"] * 90)


def errors() -> Iterator[RawRequest]:
    yield dry_run(f"{NAMESPACE}/pods", pod(**{f"x{index}": 1 for index in range(5_000)}))
    many = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "many"}, "spec": {"containers": [{"name": "/" * 900}] * 90}}
    yield dry_run(f"{NAMESPACE}/pods", many)


CASES: tuple[Callable[[], Iterator[RawRequest]], ...] = (
    quantities, copies_in_a_json_patch, numbers, depth, aliases_in_yaml, selectors, headers_and_parameters,
    lists_in_a_strategic_merge_patch, defaults_of_a_definition, columns_of_a_definition, rules_of_a_definition,
    patterns_of_a_definition, errors,
)  # fmt: skip


def _memory(key: str) -> float:
    """Mebibytes."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


def _reset_peak() -> None:
    pathlib.Path("/proc/self/clear_refs").write_text("5")


async def _send(daemon: ControlPlane, case: Callable[[], Iterator[RawRequest]]) -> Cost:
    problems, seconds, grown, codes = [], 0.0, 0.0, set()
    for each in case():
        _reset_peak()
        before, started = _memory("VmRSS"), time.thread_time()
        result = await in_process_cluster.send(daemon, each)
        seconds, grown = max(seconds, time.thread_time() - started), max(grown, _memory("VmHWM") - before)
        codes.add(result.code)
        if text := response_checks.problem(result.code, result.body) if result.code else "":
            problems.append(f"{each.method} {each.target[:100]} {each.body[:80]!r}: {text[:500]}")
    return Cost(case.__name__, "\n".join(problems), seconds, grown, sorted(codes))


async def _run(data: pathlib.Path) -> None:
    async with in_process_cluster.cluster(data) as daemon:
        for case in CASES:
            print(json.dumps(await _send(daemon, case)), flush=True)


if __name__ == "__main__":
    asyncio.run(_run(pathlib.Path(sys.argv[1])))
