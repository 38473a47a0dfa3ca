"""CRDs at run time: invalid ones, schemas, defaults, pruning, rules, versions, columns, subresources, deletion."""

from __future__ import annotations

from typing import Any

from tests.differential.bodies import definition, manifest, structural
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario
from tests.differential.scenarios.listing import TABLE
from tests.differential.target import Response

INTEGER = {"type": "integer"}
STRING = {"type": "string"}


class Kind:
    """A served CRD of one scenario, and constructors of its objects."""

    def __init__(self, p: ScenarioClient, schema: dict[str, Any], plural: str = "widgets", **version: Any) -> None:
        self.p, self.group = p, f"{p.namespace}.example.com"
        self.resource = f"/apis/{self.group}/v1/{plural}"
        self.name, self.kind = f"{plural}.{self.group}", plural[:-1].capitalize()
        p.create("customresourcedefinitions", definition(self.group, schema, plural, **version))
        self.served()

    def served(self) -> None:
        path = self.p.path("customresourcedefinitions", self.name)
        self.p.until(_established, path)
        self.p.wait_for(f"/apis/{self.group}")
        self.p.wait_for(self.p.path(self.resource))

    def body(self, name: str, **rest: Any) -> dict[str, Any]:
        return manifest(f"{self.group}/v1", self.kind, name, rest)

    def create(self, name: str, query: dict[str, Any] | None = None, **rest: Any) -> Any:
        return self.p.send("POST", self.p.path(self.resource), self.body(name, **rest), None, **(query or {}))

    def end(self) -> None:
        self.p.delete("customresourcedefinitions", self.name)
        self.p.gone("customresourcedefinitions", self.name)


def _established(response: Response) -> bool:
    conditions = response.at("status.conditions") or []
    return any(
        isinstance(each, dict) and (each.get("type"), each.get("status")) == ("Established", "True") for each in conditions
    )


def objects(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@scenario("crds", namespaced=False)
def invalid_definitions(p: ScenarioClient) -> None:
    group = f"{p.namespace}.example.com"
    good = definition(group, structural())

    def create_invalid(**spec: Any) -> None:
        p.create("customresourcedefinitions", {**good, "spec": {**good["spec"], **spec}}, dryRun="All")

    def schema(value: Any) -> None:
        create_invalid(versions=[{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": value}}])

    version = good["spec"]["versions"][0]
    p.create("customresourcedefinitions", {**good, "metadata": {"name": "other.example.com"}})
    create_invalid(scope="Global")
    create_invalid(scope=None)
    create_invalid(names={"plural": "widgets", "kind": ""})
    create_invalid(names={"plural": "Widgets", "kind": "Widget"})
    create_invalid(names={"plural": "widgets", "kind": "widget", "shortNames": ["W W"]})
    create_invalid(group="")
    create_invalid(group="nodots")
    create_invalid(versions=[])
    create_invalid(versions=[{**version, "storage": False}])
    create_invalid(versions=[version, version])
    create_invalid(versions=[version, {**version, "name": "v2"}])
    create_invalid(versions=[{**version, "name": "Version 1"}])
    create_invalid(versions=[{"name": "v1", "served": True, "storage": True}])
    create_invalid(preserveUnknownFields=True)
    create_invalid(conversion={"strategy": "Webhook"})
    create_invalid(versions=[{**version, "subresources": {"scale": {"specReplicasPath": "spec.replicas"}}}])
    create_invalid(versions=[{**version, "additionalPrinterColumns": [{"name": "a", "type": "colour", "jsonPath": "spec"}]}])
    schema({"type": "object", "properties": {"a": {}}})
    schema({"type": "string"})
    schema({"properties": {"a": STRING}})
    schema(objects(a={"type": "array"}))
    schema(objects(a={"type": "nothing"}))
    schema(objects(a={"type": "string", "default": 5}))
    schema(objects(a={"type": "string", "pattern": "["}))
    schema(objects(a={"type": "string", "enum": []}))
    schema(objects(a={"type": "integer", "minimum": 5, "maximum": 1}))
    schema(objects(a={"type": "object", "properties": {"x": STRING}, "additionalProperties": STRING}))
    schema(objects(a={"type": "string", "x-kubernetes-preserve-unknown-fields": True}))
    schema(objects(a={"type": "array", "items": STRING, "x-kubernetes-list-type": "map"}))
    schema(
        objects(
            a={"type": "array", "items": objects(k=STRING), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
        )
    )
    schema(objects(a={"type": "string", "x-kubernetes-validations": [{"rule": "self +"}]}))
    schema(objects(a={"type": "string", "x-kubernetes-validations": [{"rule": "self.size()"}]}))
    schema(objects(a={"type": "string", "x-kubernetes-validations": [{"rule": "unknown == 1", "message": "m"}]}))
    schema({**objects(a=STRING), "x-kubernetes-validations": [{"rule": ""}]})
    schema(objects(metadata={"type": "object", "properties": {"labels": {"type": "object"}}}))
    schema({**objects(a=STRING), "$ref": "#/x"})
    schema({**objects(a=STRING), "uniqueItems": True})
    schema({**objects(a={"anyOf": [{"type": "string"}]})})


@scenario("crds")
def lifecycle_of_a_definition(p: ScenarioClient) -> None:
    kind = Kind(p, structural())
    p.create("customresourcedefinitions", definition(kind.group, structural()))
    p.send("GET", f"/apis/{kind.group}")
    p.send("GET", f"/apis/{kind.group}/v1", keep=bare)
    kind.create("a", spec={"any": 1})
    p.list(kind.resource)
    p.send("GET", p.path(kind.resource), None, TABLE)
    p.patch("merge", "customresourcedefinitions", kind.name, {"metadata": {"labels": {"a": "b"}}})
    p.patch("merge", "customresourcedefinitions", kind.name, {"spec": {"scope": "Cluster"}})
    p.patch("merge", "customresourcedefinitions", kind.name, {"spec": {"names": {"plural": "others"}}})
    p.patch("merge", "customresourcedefinitions", kind.name, {"spec": {"names": {"kind": "Gadget", "listKind": "GadgetList"}}})
    p.patch("merge", "customresourcedefinitions", kind.name, {"spec": {"group": "other.example.com"}})
    kind.end()
    p.until(lambda response: response.status == 404, p.path(kind.resource))
    p.until(lambda response: response.status == 404, f"/apis/{kind.group}")


def bare(body: Any) -> Any:
    for each in body.get("resources", []) if isinstance(body, dict) else []:
        each.pop("storageVersionHash", None)
    return body


@scenario("crds")
def unknown_fields_are_pruned(p: ScenarioClient) -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    spec = objects(
        known=STRING,
        nested=objects(a=STRING),
        free=free,
        map={"type": "object", "additionalProperties": objects(b=STRING)},
        embedded=embedded,
    )
    kind = Kind(p, structural(spec))
    given = {
        "known": "k",
        "unknown": 1,
        "nested": {"a": "b", "c": "d"},
        "free": {"x": {"y": 1}},
        "map": {"m": {"b": "1", "z": 2}},
    }
    for how in ("Strict", "Warn", "Ignore"):
        kind.create(f"a-{how.lower()}", {"fieldValidation": how}, spec=given, colour="red")
    kind.create("b", spec={"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "colour": 1}, "any": 1}})
    kind.create("c", spec={"embedded": {"kind": "Pod"}})
    p.patch("merge", kind.resource, "a-warn", {"spec": {"late": 1}})
    p.patch("merge", kind.resource, "a-warn", {"spec": {"late": 1}}, fieldValidation="Strict")
    kind.end()


@scenario("crds")
def defaults_are_filled_in(p: ScenarioClient) -> None:
    inner = {**objects(x={"type": "integer", "default": 1}), "default": {}}
    spec = {
        **objects(
            a={"type": "string", "default": "d"},
            inner=inner,
            list={"type": "array", "items": inner},
            n={**STRING, "nullable": True, "default": "n"},
        ),
        "default": {},
    }
    kind = Kind(p, structural(spec), subresources={"status": {}})
    kind.create("none")
    kind.create("null", spec={"a": None, "n": None})
    kind.create("list", spec={"list": [{}, {"x": 5}]})
    kind.create("wrong", spec=None)
    p.patch("merge", kind.resource, "list", {"spec": {"a": None}})
    spec["properties"]["later"] = {"type": "string", "default": "l"}
    changed = definition(kind.group, structural(spec), subresources={"status": {}})
    p.patch("merge", "customresourcedefinitions", kind.name, {"spec": {"versions": changed["spec"]["versions"]}})
    p.until(lambda response: response.at("spec.later") == "l", p.path(kind.resource, "none"))
    p.list(kind.resource)
    kind.end()


@scenario("crds")
def values_are_validated_by_schema(p: ScenarioClient) -> None:
    spec = objects(
        number={"type": "integer", "minimum": 1, "maximum": 5, "multipleOf": 2},
        float={"type": "number", "exclusiveMinimum": True, "minimum": 0},
        text={"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
        choice={"type": "string", "enum": ["a", "b"]},
        list={"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 2},
        set={"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        keyed={
            "type": "array",
            "items": {**objects(k=STRING, v=STRING), "required": ["k"]},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
        either={"x-kubernetes-int-or-string": True},
        flag={"type": "boolean"},
        when={"type": "string", "format": "date-time"},
        small={"type": "integer", "format": "int32"},
        map={"type": "object", "additionalProperties": INTEGER, "maxProperties": 1},
        one={**objects(p=STRING, q=STRING), "oneOf": [{"required": ["p"]}, {"required": ["q"]}]},
        any={"type": "string", "anyOf": [{"pattern": "^x"}, {"pattern": "y$"}]},
        no={"type": "string", "not": {"pattern": "z"}},
        maybe={"type": "string", "nullable": True},
    )
    kind = Kind(p, {**structural({**spec, "required": ["number"]}), "required": ["spec"]})
    kind.create("whole", spec={"number": 2})
    kind.create("bare")
    kind.create("empty", spec={})
    invalid: tuple[dict[str, Any], ...] = (
        {"number": 7}, {"number": 0}, {"number": 3}, {"number": "2"}, {"number": 2.5}, {"number": 2.0}, {"float": 0},
        {"text": "a"}, {"text": "abcde"}, {"text": "AB"}, {"choice": "c"}, {"list": []}, {"list": [1, 2, 3]}, {"list": ["a"]},
        {"set": ["a", "a"]}, {"keyed": [{"k": "a"}, {"k": "a"}]}, {"keyed": [{"v": "a"}]}, {"either": 1}, {"either": "1"},
        {"either": True}, {"flag": "true"}, {"when": "yesterday"}, {"when": "2001-01-01T00:00:00Z"}, {"small": 1 << 40},
        {"map": {"a": 1, "b": 2}}, {"map": {"a": "x"}}, {"one": {}}, {"one": {"p": "", "q": ""}}, {"any": "b"}, {"no": "z"},
        {"maybe": None}, {"text": None}, {"list": None},
    )  # fmt: skip
    for given in invalid:
        kind.create("wrong", {"dryRun": "All"}, spec={"number": 2, **given})
    kind.end()


@scenario("crds")
def validation_rules(p: ScenarioClient) -> None:
    rules = [
        {"rule": "self.low <= self.high", "message": "low must not be above high"},
        {"rule": "!has(self.name) || self.name.startsWith('x')", "messageExpression": "'not ' + self.name", "fieldPath": ".name"},
        {"rule": "self.high == oldSelf.high", "message": "high is fixed", "reason": "FieldValueForbidden"},
        {"rule": "self.list.all(e, e > 0)"},
    ]
    spec = objects(
        low=INTEGER,
        high=INTEGER,
        name={**STRING, "maxLength": 20},
        list={"type": "array", "maxItems": 9, "items": INTEGER, "default": []},
    )
    kind = Kind(p, structural({**spec, "x-kubernetes-validations": rules, "required": ["low", "high"]}))
    kind.create("a", spec={"low": 1, "high": 2})
    kind.create("b", spec={"low": 3, "high": 2})
    kind.create("c", spec={"low": 1, "high": 2, "name": "abc", "list": [1, -1]})
    p.patch("merge", kind.resource, "a", {"spec": {"high": 5}})
    p.patch("merge", kind.resource, "a", {"spec": {"low": 2}})
    p.patch("merge", kind.resource, "a", {"spec": {"low": "x"}})
    kind.end()


@scenario("crds")
def status_and_scale_of_custom_resources(p: ScenarioClient) -> None:
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    schema = structural(objects(replicas={"type": "integer", "minimum": 0}, other=STRING))
    kind = Kind(p, schema, subresources={"status": {}, "scale": scale})
    kind.create("a", spec={"replicas": 2}, status={"replicas": 9})
    p.read(kind.resource, "a", "scale")
    p.read(kind.resource, "a", "status")
    p.patch("merge", kind.resource, "a", {"status": {"replicas": 2, "selector": "a=b"}, "spec": {"replicas": 7}}, "status")
    p.patch("merge", kind.resource, "a", {"status": {"replicas": 5}, "spec": {"other": "o"}})
    response = p.read(kind.resource, "a", "scale").object
    response["spec"] = {"replicas": 4}
    p.replace(kind.resource, "a", response, "scale")
    p.replace(kind.resource, "a", response, "scale")
    p.patch("merge", kind.resource, "a", {"spec": {"replicas": 6}}, "scale")
    p.patch("merge", kind.resource, "a", {"spec": {"replicas": -1}}, "scale")
    p.patch("json", kind.resource, "a", [{"op": "replace", "path": "/spec/replicas", "value": "x"}], "scale")
    p.patch("merge", kind.resource, "none", {"spec": {"replicas": 6}}, "scale")
    p.read(kind.resource, "a")
    kind.create("unset")
    p.read(kind.resource, "unset", "scale")
    kind.end()
