"""Resource infos of custom resources, built from CRDs."""

import functools
import pathlib
from typing import Any

import yaml

from traincrew.apimachinery.resource_info import ALL_VERBS, Column, ResourceInfo, Subresource
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import builtin_kinds

CRDS = pathlib.Path(__file__).parents[4] / "manifests" / "crds"
VERBS = ("get", "patch", "update")
PARTS = {"status": ("", "", ""), "scale": ("Scale", "autoscaling", "v1")}


@functools.cache
def all_resources() -> tuple[ResourceInfo, ...]:
    """The built-in resources and the project's own kinds."""
    crds = (yaml.load(file.read_text(), Loader=yaml.CSafeLoader) for file in sorted(CRDS.glob("*.kubeflow.org.yaml")))
    return (*builtin_kinds.load().resources(), *(served for crd in crds for served in served_of(crd)))


def served_of(crd: Object) -> list[ResourceInfo]:
    spec = crd["spec"]
    stored = next(version["name"] for version in spec["versions"] if version["storage"])
    return [_version(crd, version, stored) for version in spec["versions"] if version["served"]]


def _version(crd: Object, version: Object, stored: str) -> ResourceInfo:
    spec, names = crd["spec"], crd["spec"]["names"]
    return ResourceInfo(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        schema={},
        singular=names.get("singular", ""),
        list_kind=names.get("listKind", ""),
        verbs=ALL_VERBS,
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        subresources=tuple(_part(names["kind"], part) for part in version.get("subresources", {})),
        columns=tuple(_column(column) for column in version.get("additionalPrinterColumns", ())),
        storage_version=stored,
        definition=crd,
    )


def _part(kind: str, name: str) -> Subresource:
    other, group, version = PARTS[name]
    return Subresource(name, other or kind, VERBS, group, version)


def _column(column: Object) -> Column:
    optional = {key: column[key] for key in ("description", "format", "priority") if key in column}
    return Column(column["name"], column["type"], column["jsonPath"], **optional)


def crd(kind: str, columns: list[Object] | None = None, schema: Object | None = None) -> Object:
    """A definition of the kind in the group example.com."""
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    version["schema"] = {"openAPIV3Schema": schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    if columns is not None:
        version["additionalPrinterColumns"] = columns
    plural = f"{kind.lower()}s"
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": spec,
    }
