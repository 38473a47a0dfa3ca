"""Writes what the embedded API server knows of the built-in kinds, from a real API server and the Go types behind it.

    python -m tools.kube.builtins           writes three files into src/traincrew/embedded/apiserver/schema

builtins.json has the definitions of the OpenAPI documents that can be reached from the resources below, without prose, and the
Go type of every field. descriptions.json has their prose, which only `kubectl explain` needs. resources.json is the discovery of
these resources.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.kube import build, cluster
from tools.kube.openapi import Schema, UnknownKeyword

_API_SERVER = Path(__file__).resolve().parents[2] / "src" / "traincrew" / "embedded" / "apiserver"
TARGET = _API_SERVER / "schema"
GO_TYPES = _API_SERVER / "registry" / "builtin" / "go_types.json"

SERVED = {
    "api/v1": (
        "bindings configmaps endpoints events limitranges namespaces nodes persistentvolumeclaims persistentvolumes pods "
        "replicationcontrollers resourcequotas secrets serviceaccounts services"
    ),
    "apis/apiextensions.k8s.io/v1": "customresourcedefinitions",
    "apis/apps/v1": "daemonsets deployments replicasets statefulsets",
    "apis/authentication.k8s.io/v1": "selfsubjectreviews tokenreviews",
    "apis/authorization.k8s.io/v1": (
        "localsubjectaccessreviews selfsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews"
    ),
    "apis/autoscaling/v1": "horizontalpodautoscalers",
    "apis/autoscaling/v2": "horizontalpodautoscalers",
    "apis/batch/v1": "cronjobs jobs",
    "apis/coordination.k8s.io/v1": "leases",
    "apis/discovery.k8s.io/v1": "endpointslices",
    "apis/events.k8s.io/v1": "events",
    "apis/networking.k8s.io/v1": "ingresses networkpolicies",
    "apis/policy/v1": "poddisruptionbudgets",
    "apis/rbac.authorization.k8s.io/v1": "clusterrolebindings clusterroles rolebindings roles",
    "apis/scheduling.k8s.io/v1": "priorityclasses",
    "apis/storage.k8s.io/v1": "storageclasses",
}
UNSERVED = ("nodes/proxy",)
"""Subresources that the embedded API server does not have."""

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
ALWAYS = [META + name for name in ("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Patch", "WatchEvent")]
"""Definitions that no resource needs; the OpenAPI documents do."""

NESTED = ("items", "additionalProperties", "not")
LISTS = ("allOf", "anyOf", "oneOf")
KEPT = {
    "$ref", "default", "enum", "format", "pattern", "required", "type", "x-kubernetes-group-version-kind",
    "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
}  # fmt: skip
DROPPED = {"description", "x-kubernetes-unions"}


def resources(discovery: Mapping[str, Schema]) -> list[Schema]:
    """What discovery says of them. `body` is the group and version of a subresource's body, where they are not the resource's."""
    found = []
    for path, plurals in SERVED.items():
        group, _, version = path.removeprefix("apis/").removeprefix("api/").rpartition("/")
        for entry in discovery[path]["resources"]:
            if entry["name"].partition("/")[0] not in plurals.split() or entry["name"] in UNSERVED:
                continue
            body = {key: entry.pop(key) for key in ("group", "version") if key in entry}
            kept = {key: value for key, value in entry.items() if key != "storageVersionHash" and value}
            found.append({"group": group, "version": version, **kept, **({"body": body} if body else {})})
    return found


def definitions(documents: Mapping[str, Schema], listed: list[Schema]) -> Schema:
    """Definitions by name: what the resources need, and what that needs."""
    known = _known(documents)
    kept: Schema = {}
    waiting = [*ALWAYS, *_roots(known, listed)]
    while waiting:
        name = waiting.pop()
        if name in known and name not in kept:
            kept[name] = _plain(known[name])
            waiting += _references(kept[name])
    return kept


def descriptions(documents: Mapping[str, Schema], kept: Mapping[str, Schema]) -> Schema:
    """Definition → field → prose; the prose of the definition itself has an empty name."""
    known = _known(documents)
    return {name: texts for name in kept if (texts := _texts(known[name]))}


def _known(documents: Mapping[str, Schema]) -> Schema:
    known: Schema = {}
    for document in documents.values():
        for name, schema in document["components"]["schemas"].items():
            known.setdefault(name, schema)
    return known


def _texts(schema: Schema) -> Schema:
    parts = {"": schema, **schema.get("properties", {})}
    return {name: part["description"] for name, part in parts.items() if part.get("description")}


def _roots(known: Mapping[str, Schema], listed: list[Schema]) -> Iterator[str]:
    wanted = {("", "v1", "DeleteOptions"), ("", "v1", "Status"), ("autoscaling", "v1", "Scale"), ("policy", "v1", "Eviction")}
    for entry in listed:
        place = entry.get("body", entry)
        wanted |= {(place["group"], place["version"], entry["kind"] + suffix) for suffix in ("", "List")}
    for name, schema in known.items():
        kinds = schema.get("x-kubernetes-group-version-kind", ())
        if any((kind["group"], kind["version"], kind["kind"]) in wanted for kind in kinds):
            yield name


def _plain(schema: Schema) -> Schema:
    plain: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            plain[key] = {name: _plain(inner) for name, inner in value.items()}
        elif key in NESTED:
            plain[key] = _plain(value)
        elif key in LISTS:
            plain[key] = [_plain(inner) for inner in value]
        elif key in KEPT:
            plain[key] = value
        elif key not in DROPPED:
            raise UnknownKeyword(f"decide about {key} in {json.dumps(schema)}")
    return plain


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def go_types(kept: Mapping[str, Schema]) -> Schema:
    """Definition → field → Go type, with ! after the type of a field that is written even when it is empty."""
    every: Schema = json.loads(_run_go("./gotypes"))
    return {name: every[name] for name, schema in kept.items() if name in every and schema.get("type") == "object"}


def _run_go(package: str) -> str:
    modules = build.modules("kube-apiserver")
    return subprocess.run(["go", "run", package], cwd=modules, capture_output=True, text=True, check=True).stdout


def generate(kube: cluster.Cluster) -> dict[str, Any]:
    """File name → content, but for the Go types."""
    listed = resources({path: _get(kube, f"/{path}") for path in SERVED})
    documents = {path: _get(kube, f"/openapi/v3/{path}") for path in (*SERVED, "api", "apis")}
    kept = definitions(documents, listed)
    return {
        "builtins.json": {"definitions": kept},
        "descriptions.json": descriptions(documents, kept),
        "resources.json": listed,
    }


def _get(kube: cluster.Cluster, path: str) -> Schema:
    response = kube.kubectl("get", "--raw", path)
    response.check_returncode()
    found: Schema = json.loads(response.stdout)
    return found


def main() -> int:
    with cluster.start() as kube:
        files = generate(kube)
    files["builtins.json"]["types"] = go_types(files["builtins.json"]["definitions"])
    for file, content in files.items():
        text = json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n"
        (TARGET / file).write_text(text)
        print(f"{TARGET / file}: {len(text)} bytes")
    GO_TYPES.write_text(_run_go("./goencoding"))
    print(f"{GO_TYPES}: {GO_TYPES.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
