"""Random requests of less than 100 kB in the languages that the API server reads: quantities, patches, selectors, CEL, YAML."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.embedded.resilience.request_generator import RawRequest
from tests.hostile import costly_definitions, random_rules
from tests.hostile.costly_requests import (
    APPLY,
    CRDS,
    JSON_PATCH,
    NAMESPACE,
    STRATEGIC,
    YAML,
    Object,
    dry_run,
    patched,
    pod,
    request,
)

SIZE = 90_000
COUNTS = (1, 3, 30, 300, 3_000)
SUFFIXES = (
    "", "", "m", "n", "k", "Ki", "Mi", "Ei", "E", "e9", "E-9", "e+400", "E1000000", "e-1000000", "Kii", "e", "E.", "i",
    f"e{'9' * 5_000}",
)  # fmt: skip
POINTERS = (
    "", "/", "/data", "/data/a", "/data/b", "/metadata/annotations", "/metadata/labels/x", "/x", "/x/-", "/x/0", "/x/y", "/x/y/-",
    "/x/y/z", "/~1~0", f"/x/{'9' * 400}", "/metadata/name",
)  # fmt: skip
SELECTOR_PARTS = (
    "a", "b/c", "x" * 64, "in", "notin", "(", ")", ",", "=", "==", "!=", "!", " ", "<", ">", "9" * 20, "metadata.name", "\\",
    "(a,b)", "a in (b)", ",,", "é",
)  # fmt: skip
YAML_PARTS = (
    "a: b\n", "- ", "&a ", "*a ", "<<: *a\n", "? ", ": ", "{", "}", "[", "]", ",", "a: &a [x,x]\n", "b: [*a,*a,*a,*a]\n",
    "|\n  x\n", ">-\n", "'", '"', "\\u0041", "!!binary ", "!!int ", "!!float ", "!x ", "# c\n", "---\n", "...\n", "%YAML 1.2\n",
    "\t", "  ", "\n", "9" * 300, "0x1", "1e999", ".inf", "~", "2001-01-01", "1_000", "0o7", "190:20:30", "é", "\u2028",
)  # fmt: skip


def quantity(rng: random.Random) -> str:
    digits = rng.choice("0179") * rng.choice((0, 1, 3, 20, 400, 5_000, SIZE))
    fraction = f".{rng.choice('0179') * rng.choice((0, 1, 9, 400, 5_000))}" if rng.random() < 0.4 else ""
    return f"{rng.choice(('', '', '-', '+', ' '))}{digits}{fraction}{rng.choice(SUFFIXES)}"[:SIZE]


def quantities(rng: random.Random) -> Iterator[RawRequest]:
    text = quantity(rng)
    yield dry_run(f"{NAMESPACE}/pods", pod(resources={"requests": {"cpu": text}, "limits": {"cpu": quantity(rng)[:900]}}))
    limit = {"type": "Container", "max": {"cpu": text}, "min": {"cpu": "1"}, "default": {"cpu": "2"}}
    yield dry_run(f"{NAMESPACE}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [limit]}})
    yield dry_run(f"{NAMESPACE}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": text}}})
    volume = {"name": "v", "emptyDir": {"sizeLimit": text}}
    yield dry_run(f"{NAMESPACE}/pods", {"metadata": {"name": "e"}, "spec": {**pod()["spec"], "volumes": [volume]}})
    many = {f"example.com/r{index}": quantity(rng)[:30] for index in range(rng.choice(COUNTS[:-1]))}
    yield dry_run(f"{NAMESPACE}/pods", pod(resources={"limits": many}))


def _value(rng: random.Random) -> Any:
    values: tuple[Any, ...] = (1, "", None, [], {}, "y" * 2_000, [[]] * 50, {"a": {"b": []}}, [1] * 500, {"y": [{}]}, 10**300)
    return rng.choice(values)


def json_patches(rng: random.Random) -> Iterator[RawRequest]:
    operations = [{"op": "add", "path": "/x", "value": {}}, *_growing(rng)]
    operations += [_operation(rng) for _ in range(rng.choice((0, 0, 1, 9)))]
    if rng.random() < 0.5:
        operations.append({"op": "remove", "path": "/x"})
    yield request("POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "patched"}, "data": {"a": "b"}})
    yield patched("configmaps/patched", operations, JSON_PATCH)
    yield patched("pods/a", operations, JSON_PATCH, dryRun="All")


def _growing(rng: random.Random) -> Iterator[Object]:
    """Operations that are possible, each on what the earlier ones have made."""
    known, size = ["/x"], 0
    for index in range(rng.choice(COUNTS)):
        path = f"{rng.choice(known[-20:])}/n{index}"
        copied: Object = {"op": "copy", "from": rng.choice(known), "path": path}
        operation = copied if rng.random() < 0.7 else {"op": "add", "path": path, "value": {"v": _value(rng)}}
        size += len(str(operation))
        if size > SIZE:
            return
        yield operation
        if len(path) < 300:
            known.append(path)


def _operation(rng: random.Random) -> Object:
    name = rng.choice(("add", "copy", "move", "replace", "test", "remove"))
    return {"op": name, "path": rng.choice(POINTERS), "from": rng.choice(POINTERS), "value": _value(rng)}


def _elements(rng: random.Random) -> list[Any]:
    """Of a list that is merged: named, repeated, reversed, deleted, or nonsense."""
    count, key = rng.choice(COUNTS), rng.choice(("name", "name", "mountPath", "containerPort", "$patch"))
    directive = rng.choice(({}, {}, {"$patch": "delete"}, {"$patch": "replace"}, {"value": "x"}, {"$retainKeys": ["name"]}))
    elements: list[Any] = [{key: f"E{index % rng.choice((1, 50, 5_000))}", **directive} for index in range(count)]
    return elements[::-1] if rng.random() < 0.5 else elements


def strategic_patches(rng: random.Random) -> Iterator[RawRequest]:
    yield request("POST", f"{NAMESPACE}/pods", pod("listed", env=[{"name": f"E{index}"} for index in range(1_500)]))
    container: Object = {"name": "c"}
    for field in rng.sample(("env", "ports", "volumeMounts", "args", "envFrom"), 2):
        prefix = rng.choice(("", "", "$setElementOrder/", "$deleteFromPrimitiveList/", "$patch/"))
        container[f"{prefix}{field}"] = _elements(rng)
    metadata = {rng.choice(("labels", "finalizers", "$deleteFromPrimitiveList/finalizers", "$patch")): _elements(rng)}
    for body in ({"spec": {"containers": [container]}}, {"metadata": metadata}, {"spec": {"containers": [container] * 3}}):
        yield patched("pods/listed", body, STRATEGIC, dryRun="All")


def _sentence(rng: random.Random, parts: tuple[str, ...]) -> str:
    """Some of the parts in random order, or one order repeated."""
    vocabulary = rng.sample(parts, rng.randint(1, 8))
    words = "".join(rng.choice(vocabulary) for _ in range(rng.choice((2, 9, 200))))
    repeated = words * (SIZE // max(len(words.encode()), 1)) if rng.random() < 0.7 else words
    return repeated.encode()[:SIZE].decode(errors="ignore")


def selectors(rng: random.Random) -> Iterator[RawRequest]:
    text = _sentence(rng, SELECTOR_PARTS)[: SIZE // 3]
    yield request("GET", f"{NAMESPACE}/configmaps", labelSelector=text)
    yield request("GET", f"{NAMESPACE}/pods", fieldSelector=text)
    expressions = [{"key": text[:300], "operator": "In", "values": [text[:60]] * rng.choice(COUNTS)}]
    spec = {"selector": {"matchExpressions": expressions * rng.choice((1, 20))}, "template": pod(), "replicas": 1}
    yield dry_run("/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "d"}, "spec": spec})


def _lines(rng: random.Random) -> Iterator[str]:
    """Lines of a mapping, each with an anchor, aliases of earlier ones, or merged keys."""
    size = 0
    for index in range(rng.choice(COUNTS)):
        aliases = [f"*a{rng.randrange(index)}" for _ in range(rng.choice((0, 1, 10, 500)))] if index else []
        value = rng.choice(("[%s]", "{<<: [%s]}", "{k: [%s]}", "[[[%s]]]")) % ",".join(aliases)
        line = f"k{index}: &a{index} {value if aliases else rng.choice(('{a: b}', '{c: d}', 'x', '1e999', '[x, y]'))}"
        size += len(line) + 3
        if size > SIZE:
            return
        yield line


def documents(rng: random.Random) -> Iterator[RawRequest]:
    text = _sentence(rng, YAML_PARTS) if rng.random() < 0.4 else "\n  ".join(_lines(rng))
    for body in (text, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: y}}\ndata:\n  {text}"[:SIZE]):
        yield dry_run(f"{NAMESPACE}/configmaps", body, YAML)
        yield patched("configmaps/y", body, APPLY, dryRun="All", fieldManager="m")


def rules(rng: random.Random) -> Iterator[RawRequest]:
    """A definition with rules of its own, and objects of it."""
    schema, values = random_rules.schema(rng)
    plural = f"random{rng.getrandbits(60)}"
    yield costly_definitions.definition(plural, schema)
    for value in values:
        yield costly_definitions.custom(plural, value, dryRun="All")
    yield request("DELETE", f"{CRDS}/{plural}.{costly_definitions.GROUP}")


LANGUAGES: tuple[Callable[[random.Random], Iterator[RawRequest]], ...] = (
    quantities, json_patches, strategic_patches, selectors, documents, rules,
)  # fmt: skip


def requests(language: Callable[[random.Random], Iterator[RawRequest]], number: int) -> Iterator[RawRequest]:
    for seed in range(number):
        yield from language(random.Random(f"{language.__name__} {seed}"))
