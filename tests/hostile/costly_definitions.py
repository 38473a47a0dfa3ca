"""Definitions of less than 100 kB, and objects of them, that ask for much more work than their sizes suggest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.embedded.resilience.request_generator import RawRequest
from tests.hostile.costly_requests import APPLY, CRDS, TABLE, Object, request

GROUP = "hostile.example.com"
COLLECTION = f"/apis/{GROUP}/v1/namespaces/default"
ANYTHING: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXT: Object = {"type": "string"}


def definition(plural: str, schema: Object, group: str = GROUP, **version: object) -> RawRequest:
    names = {"plural": plural, "kind": plural.capitalize()}
    whole = {"type": "object", "properties": {"spec": schema}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}, **version}]
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    meta = {"name": f"{plural}.{group}"}
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec}
    return request("POST", CRDS, body)


def custom(plural: str, spec: object, method: str = "POST", **query: str) -> RawRequest:
    body = {"apiVersion": f"{GROUP}/v1", "kind": plural.capitalize(), "metadata": {"name": "w"}, "spec": spec}
    path = f"{COLLECTION}/{plural}"
    return request(method, path, body, **query) if method == "POST" else request(method, f"{path}/w", body, APPLY, **query)


def items(**schema: object) -> Object:
    return {"type": "array", "items": schema}


def defaults() -> Iterator[RawRequest]:
    numbers = {"type": "array", "items": {"type": "integer"}, "default": [1] * 10_000}
    for plural, default in (("texts", {**TEXT, "default": "x" * 80_000}), ("numbers", numbers)):
        yield definition(plural, items(type="object", properties={"d": default}))
        yield custom(plural, [{}] * 20_000)
    deep: Object = {"type": "object", "properties": {f"p{index}": TEXT for index in range(2_500)}}
    for _ in range(60):
        deep = {"type": "object", "default": {}, "properties": {"a": deep}}
    yield definition("nesteds", deep)
    yield custom("nesteds", {})


def columns() -> Iterator[RawRequest]:
    deep: Any = 1
    for _ in range(150):
        deep = {"a": deep}
    paths = [*[".spec" + "..a" * 10] * 700, ".spec..l..*..*", ".spec.l[::0]", ".spec.l[?(@.a==1)].a", *[".spec"] * 50]
    printed = [{"name": f"c{index}", "type": "string", "jsonPath": path} for index, path in enumerate(paths)]
    yield definition("columns", ANYTHING, additionalPrinterColumns=printed)
    yield custom("columns", {"deep": deep, "l": [{"a": 1}] * 6_000})
    yield request("GET", f"{COLLECTION}/columns", accept=TABLE)
    for path in (".a" * 40_000, "[?(" * 30_000, f".l[{'9' * 5_000}]", f"[{'0,' * 40_000}0]"):
        yield definition("paths", TEXT, additionalPrinterColumns=[{"name": "c", "type": "string", "jsonPath": path}])


def products() -> Iterator[RawRequest]:
    """Each item of a long list meets each part of a long schema."""
    names = [f"n{index}" for index in range(9_000)]
    integers = [*range(14_000)]
    cases: tuple[tuple[str, Object, Any], ...] = (
        ("enums", items(type="string", enum=names), [f"m{name}" for name in names]),
        ("requireds", items(type="object", required=names), [{}] * 20_000),
        ("alls", items(type="integer", allOf=[{}] * 20_000), integers),
        ("ones", items(type="integer", oneOf=[{"minimum": index} for index in range(4_500)]), integers),
    )
    for plural, schema, value in cases:
        yield definition(plural, schema)
        yield custom(plural, value)


def patterns() -> Iterator[RawRequest]:
    yield definition("backtracks", items(type="string", pattern="^(a|a|b?)*$"))
    yield custom("backtracks", ["a" * 900 + "c"] * 90)
    yield definition("programs", {**TEXT, "allOf": [{"pattern": f"(?:a|b)*a(?:a|b){{{size}}}c"} for size in range(200, 999)]})
    yield custom("programs", "ab" * 40_000)
    yield definition("classes", {**TEXT, "allOf": [{"pattern": r"\pL|" * 400 + str(index)} for index in range(40)]})
    yield definition("larges", {**TEXT, "allOf": [{"pattern": rf"\pL{{1,{size}}}"} for size in range(200, 999)]})


def lists() -> Iterator[RawRequest]:
    keys = {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    mapped = {"type": "array", "items": keys, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}
    entries = [{"a": index, "b": index} for index in range(3_000)]
    for plural, schema, value in (
        ("sets", {**items(type="integer"), "x-kubernetes-list-type": "set"}, [*range(10_000)]),
        ("maps", mapped, entries),
    ):
        yield definition(plural, schema)
        yield custom(plural, value)
        yield custom(plural, value[::-1], "PATCH", fieldManager="a")
        yield custom(plural, value, "PATCH", fieldManager="b", force="true")


RULES: tuple[tuple[str, Any], ...] = (
    ("self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", [*range(9_000)]),
    ("self.map(x, self.map(y, x + y)).size() > 0", [*range(9_000)]),
    ("self.map(x, self).size() > 0", [*range(9_000)]),
    ("self.map(x, string(x)).join(',').size() > 0", [*range(9_000)]),
    ("sets.equivalent(self, self)", [*range(9_000)]),
    ("self.replace('a', self) != ''", "a" * 80_000),
    ("self.matches('(?:a|b)*a(?:a|b){900}c')", "ab" * 40_000),
    ("self.findAll('.*b|a').size() > 0", "a" * 80_000),
    ("quantity(self).isGreaterThan(quantity('1E1000000'))", "9" * 80_000),
    ("duration(self) > duration('1s')", "1h" * 40_000),
    ("isIP(self) || isCIDR(self) || isURL(self)", "::" * 40_000),
    ("[" + "1," * 40_000 + "1].size() > 0", "x"),
    (" && ".join(["true"] * 9_000), "x"),
    (" || ".join(["self == 'a'"] * 2_600), "x"),
    ("(" * 9_000 + "true" + ")" * 9_000, "x"),
)


def versions() -> Iterator[RawRequest]:
    """The same rules in each of many versions."""
    for number, rule in (
        (5, "&&".join(["true"] * 3_200)),
        (8, "||".join(["!self.x"] * 1_000)),
        (3, f"[{'1,' * 4_900}1].size()>0"),
    ):
        whole = definition("versions", {**TEXT, "x-kubernetes-validations": [{"rule": rule}]})
        body = json.loads(whole.body)
        (version,) = body["spec"]["versions"]
        body["spec"]["versions"] = [{**version, "name": f"v{index + 1}", "storage": not index} for index in range(number)]
        yield whole._replace(body=json.dumps(body).encode())


def rules() -> Iterator[RawRequest]:
    doubled = "self"
    for level in range(24):
        doubled = f"cel.bind(a{level}, {doubled}, a{level} + a{level})"
    for number, (rule, value) in enumerate((*RULES, (f"{doubled} != ''", "x" * 1_000))):
        schema = items(type="integer") if isinstance(value, list) else TEXT
        yield definition(f"rules{number}", {**schema, "x-kubernetes-validations": [{"rule": rule}]})
        yield custom(f"rules{number}", value)
    many = [{"rule": f"self.size() > {number}"} for number in range(2_000)]
    yield definition("many", {**TEXT, "x-kubernetes-validations": many})
    yield from versions()
    times = {f"t{index}": {**TEXT, "format": "date-time"} for index in range(900)}
    read = [{"rule": f"self.t{index} == self.t{index}"} for index in range(500)]
    yield definition("times", {"type": "object", "properties": times, "x-kubernetes-validations": read})
    each = {**TEXT, "x-kubernetes-validations": [{"rule": "self != 'y'"}, {"rule": "self == 'y'"}]}
    yield definition("each", items(**each))
    yield custom("each", ["x"] * 20_000)


def depth_of_schemas() -> Iterator[RawRequest]:
    for number, keyword in enumerate(("items", "not", "allOf")):
        deep: Object = TEXT if keyword == "items" else {"minLength": 1}
        for _ in range(160 if keyword != "allOf" else 80):
            deep = {"type": "array", "items": deep} if keyword == "items" else {keyword: [deep] if keyword == "allOf" else deep}
        yield definition(f"deep{number}", deep if keyword == "items" else {**TEXT, **deep})
        yield custom(f"deep{number}", json.loads("[" * 160 + '"x"' + "]" * 160) if keyword == "items" else "x")
        yield custom(f"deep{number}", json.loads("[" * 160 + '"y"' + "]" * 160), "PATCH", fieldManager="m", force="true")
