"""Requests of less than 100 kB that ask for much more work than their size suggests."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

from tests.embedded.resilience.request_generator import RawRequest

Object = dict[str, Any]

JSON, YAML, APPLY = "application/json", "application/yaml", "application/apply-patch+yaml"
JSON_PATCH, MERGE, STRATEGIC = (f"application/{name}+json" for name in ("json-patch", "merge-patch", "strategic-merge-patch"))
PROTOBUF = "application/vnd.kubernetes.protobuf"
NAMESPACE = "/api/v1/namespaces/default"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def request(method: str, path: str, body: object = b"", content: str = JSON, accept: str = JSON, **query: str) -> RawRequest:
    raw = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    target = f"{path}?{urllib.parse.urlencode(query, safe=',=!()')}" if query else path
    return RawRequest(method, target, {"Content-Type": content, "Accept": accept}, raw)


def dry_run(path: str, body: object, content: str = JSON) -> RawRequest:
    return request("POST", path, body, content, dryRun="All")


def patched(path: str, body: object, content: str, **query: str) -> RawRequest:
    return request("PATCH", f"{NAMESPACE}/{path}", body, content, **query)


def pod(name: str = "p", **container: object) -> Object:
    containers = [{"name": "c", "image": "i", **container}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}}


def quantities() -> Iterator[RawRequest]:
    digits = "9" * 90_000
    long = (digits, f"1e{digits}", f"0.{digits}", f"1{'0' * 90_000}Ki", f"-{digits}")
    for text in ("1E1000000", "1e-1000000", "9" * 5_000, *long):
        hard = {"requests.cpu": text}
        yield dry_run(f"{NAMESPACE}/pods", pod(resources={"limits": {"cpu": text}}))
        yield dry_run(f"{NAMESPACE}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}})
        limits = [{"type": "Container", "max": {"cpu": text}, "maxLimitRequestRatio": {"cpu": "2"}}]
        yield dry_run(f"{NAMESPACE}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}})
    yield dry_run(f"{NAMESPACE}/pods", pod(resources={"limits": {f"example.com/r{i}": str(10**25 + i) for i in range(1_800)}}))


def numbers() -> Iterator[RawRequest]:
    for number in (b"1e999", b"-1e999", b"9" * 5_000, b"9" * 90_000, b"1e" + b"9" * 50_000):
        of_pod = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},'
        for body in (number, b'{"metadata":%s}' % number, of_pod + b'"spec":%s}' % number, of_pod + b'"spec":{"x":%s}}' % number):
            for content in (JSON, YAML):
                yield dry_run(f"{NAMESPACE}/pods", body, content)
            for content in (JSON_PATCH, MERGE, STRATEGIC, APPLY):
                yield patched("pods/a", body, content, dryRun="All", fieldManager="m")
            yield dry_run(CRDS, body)
        version = {"metadata": {"name": "a", "resourceVersion": number.decode()}}
        yield request("PUT", f"{NAMESPACE}/configmaps/a", version, dryRun="All")
        for name in ("limit", "resourceVersion", "continue"):
            yield request("GET", f"{NAMESPACE}/pods", **{name: number.decode()})


def copies_in_a_json_patch() -> Iterator[RawRequest]:
    yield request("POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": "copied"}, "data": {"a": "x" * 1_000}})
    doubled: list[Object] = [{"op": "add", "path": "/x", "value": [1]}] + [{"op": "copy", "from": "/x", "path": "/x/-"}] * 300
    nested = [{"op": "copy", "from": "/data", "path": f"/data/b{index}"} for index in range(200)]
    long = {"op": "add", "path": "/x", "value": "y" * 50_000}
    many = [{"op": "copy", "from": "/x", "path": f"/data/{index}"} for index in range(900)]
    wrapped = [{"op": "add", "path": "/w", "value": {}}, {"op": "move", "from": "/v", "path": "/w/v"}]
    deep = [{"op": "add", "path": "/v", "value": {}}, *[*wrapped, {"op": "move", "from": "/w", "path": "/v"}] * 700]
    for operations in (doubled, nested, [long, *many], deep, [*deep, {"op": "copy", "from": "/v", "path": "/z"}]):
        yield patched("configmaps/copied", operations, JSON_PATCH)
    items = {"op": "add", "path": "/spec/containers/0/env", "value": [{}] * 15_000}
    containers = [{"op": "copy", "from": "/spec/containers/0", "path": "/spec/containers/-"}] * 20
    yield patched("pods/a", [items, *containers], JSON_PATCH, dryRun="All")


def depth() -> Iterator[RawRequest]:
    for levels in (199, 1_000, 10_001, 15_000):
        for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
            deep = opening * levels + b"1" + closing * levels
            yield dry_run(f"{NAMESPACE}/pods", deep)
            yield dry_run(f"{NAMESPACE}/pods", opening * levels)
            yield patched("pods/a", b'{"spec":' + deep + b"}", STRATEGIC, dryRun="All")
        yield dry_run(f"{NAMESPACE}/pods", "- " * levels + "1", YAML)
    message = b""
    while len(message) < 80_000:
        message = b"\x0a" + _varint(len(message)) + message
    of_pod = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12"
    yield dry_run(f"{NAMESPACE}/pods", of_pod + _varint(len(message)) + message, PROTOBUF)
    yield dry_run(f"{NAMESPACE}/pods", b"k8s\0" + b"\x0b" * 90_000, PROTOBUF)


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*encoded, number))


def yaml_documents() -> Iterator[RawRequest]:
    lines = [f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 10)]
    merged = f"x: &d {{{','.join(f'k{index}: a' for index in range(3_000))}}}\ndata: {{<<: [{'*d,' * 10_000}]}}"
    texts = [f"a: {sign * 90_000}" for sign in ("9", "1_", "-", "[", "{", "'", '"', "#", "!", "&", "*", "%", " ", "\n")]
    bombs = ["\n".join(["a0: &a0 [x,x,x,x,x,x,x,x,x,x]", *lines]), f"a: &a [{'x,' * 2_000}]\nb: [{'*a,' * 20_000}]", merged]
    for body in (*bombs, *(text[:95_000] for text in texts), f"a: 0x{'f' * 90_000}", "\n".join(["k: v"] * 15_000)):
        yield dry_run(f"{NAMESPACE}/configmaps", body, YAML)
        yield patched("configmaps/a", body, APPLY, dryRun="All", fieldManager="m")


def selectors() -> Iterator[RawRequest]:
    names = [f"v{index}" for index in range(12_000)]
    texts = [",".join(f"!{name}" for name in names), f"a in ({','.join(names)})"]
    for selector in (*texts, "(" * 90_000, "a" * 90_000, "a in (" * 10_000, " " * 90_000, "," * 90_000, "=" * 90_000):
        yield request("GET", f"{NAMESPACE}/configmaps", labelSelector=selector)
        yield request("GET", f"{NAMESPACE}/pods", fieldSelector=selector)
        yield request("DELETE", f"{NAMESPACE}/configmaps", labelSelector=selector, dryRun="All")


def headers_and_parameters() -> Iterator[RawRequest]:
    yield request("GET", f"{NAMESPACE}/pods", accept=",".join(f"*/*;q=0.{index}" for index in range(1_000, 8_000)))
    yield request("GET", f"{NAMESPACE}/pods", accept="application/json" + ";a=b" * 20_000)
    yield request("GET", f"{NAMESPACE}/pods?{'&'.join(f'a{index}=b' for index in range(12_000))}")
    yield request("POST", f"{NAMESPACE}/configmaps?{'dryRun=x&' * 9_000}", {"metadata": {"name": "a"}})
    for manager in ("a" * 90_000, "%01" * 30_000):
        yield request("PATCH", f"{NAMESPACE}/configmaps/a?fieldManager={manager}", {"data": {}}, APPLY)
    for token in (b"A" * 60_000, b"[" * 60_000, json.dumps({"v": "meta.k8s.io/v1", "rv": 1, "start": "a/../" * 12_000}).encode()):
        yield request("GET", f"{NAMESPACE}/pods", **{"continue": base64.urlsafe_b64encode(token).decode().rstrip("=")})


def lists_in_a_strategic_merge_patch() -> Iterator[RawRequest]:
    names = [{"name": f"E{index}"} for index in range(2_500)]
    yield request("POST", f"{NAMESPACE}/pods", pod("listed", env=names))
    for patch in (
        {"$setElementOrder/env": names[::-1]},
        {"env": [{**name, "$patch": "delete"} for name in names]},
        {"env": [{**name, "value": "x"} for name in names[::-1]]},
        {"env": [{"name": [index]} for index in range(5_000)]},
        {"$retainKeys": [f"k{index}" for index in range(9_000)]},
    ):
        yield patched("pods/listed", {"spec": {"containers": [{"name": "c", **patch}]}}, STRATEGIC, dryRun="All")
    finalizers = [f"example.com/f{index}" for index in range(4_000)]
    yield patched("pods/listed", {"metadata": {"finalizers": finalizers}}, STRATEGIC)
    yield patched("pods/listed", {"metadata": {"$deleteFromPrimitiveList/finalizers": finalizers}}, STRATEGIC)


def managed_fields() -> Iterator[RawRequest]:
    data = {f"k{index}": "v" for index in range(5_000)}
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "managed"}, "data": data}
    for manager in range(40):  # in the end the object is larger than the store accepts
        yield patched("configmaps/managed", applied, APPLY, fieldManager=f"m{manager}", force="true")
    yield patched("configmaps/managed", {**applied, "data": dict.fromkeys(data, "w")}, APPLY, fieldManager="other")
    for elements in (['k:{"a":' + "9" * 5_000 + "}"], ["k:" + "[" * 3_000], [f"v:{index}" for index in range(6_000)]):
        fields: Object = {element: {} for element in elements}
        entry = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
        yield dry_run(f"{NAMESPACE}/configmaps", {"metadata": {"name": "fields", "managedFields": [entry]}})


def many_objects_in_one() -> Iterator[RawRequest]:
    ports = [{"containerPort": 80, "name": f"p{index}"} for index in range(1_800)]
    yield dry_run(f"{NAMESPACE}/pods", pod(ports=ports))
    yield dry_run(f"{NAMESPACE}/pods", {"metadata": {"name": "empty"}, "spec": {"containers": [{}] * 25_000}})
    unknown: Object = {f"x{index}": 1 for index in range(5_000)}
    yield dry_run(f"{NAMESPACE}/pods", pod(**unknown))
    yield dry_run(f"{NAMESPACE}/configmaps", b'{"metadata":{"name":"u"},"data":{%s}}' % b",".join([b'"a":"b"'] * 11_000))
    node_ports = [{"port": index + 1, "name": f"p{index}"} for index in range(2_800)]
    yield dry_run(f"{NAMESPACE}/services", {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": node_ports}})
    default = {"type": "Container", "default": {f"example.com/r{index}": "1" for index in range(2_500)}}
    yield request("POST", f"{NAMESPACE}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [default]}})
    containers = [{"name": f"c{index}", "image": "i"} for index in range(2_500)]
    yield dry_run(f"{NAMESPACE}/pods", {"metadata": {"name": "limited"}, "spec": {"containers": containers}})
    yield request("DELETE", f"{NAMESPACE}/limitranges/l")


def aggregated_roles() -> Iterator[RawRequest]:
    different = [{"matchLabels": {f"k{index}": "v"}} for index in range(2_800)]
    for name, selectors in (("equal", [{}] * 20_000), ("different", different)):
        body = {"metadata": {"name": name}, "aggregationRule": {"clusterRoleSelectors": selectors}}
        yield request("POST", ROLES, body)
        yield request("PATCH", f"{ROLES}/{name}", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        yield request("DELETE", f"{ROLES}/{name}")
