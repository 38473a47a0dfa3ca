"""CRDs at run time: columns, versions, changes, deletion."""

from __future__ import annotations

from tests.differential.bodies import definition, manifest, structural
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario
from tests.differential.scenarios.custom_resource_definitions import INTEGER, STRING, Kind, bare, objects
from tests.differential.scenarios.listing import TABLE


@scenario("crds")
def columns_of_custom_resources(p: ScenarioClient) -> None:
    columns = [
        {"name": "Text", "type": "string", "jsonPath": ".spec.text", "description": "d"},
        {"name": "Number", "type": "integer", "jsonPath": ".spec.number", "priority": 1},
        {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Last", "type": "string", "jsonPath": ".status.conditions[-1:].type"},
        {"name": "Ready", "type": "boolean", "jsonPath": ".spec.flag"},
        {"name": "True", "type": "string", "jsonPath": '.status.conditions[?(@.status=="True")].type'},
        {"name": "Whole", "type": "string", "jsonPath": ".spec.list"},
        {"name": "Float", "type": "number", "jsonPath": ".spec.float", "format": "float"},
    ]
    kind = Kind(p, structural(), additionalPrinterColumns=columns)
    kind.create("a", spec={"text": "t", "number": 5, "flag": True, "list": ["x", 1], "float": 1.5})
    conditions = [
        {"type": "Created", "status": "True"},
        {"type": "Running", "status": "True"},
        {"type": "Failed", "status": "False"},
    ]
    kind.create("b", status={"conditions": conditions})
    kind.create("c", spec={"text": 5, "number": "five", "flag": "x", "float": "y"})
    p.until(lambda response: response.at("columnDefinitions.1.name") == "Text", p.path(kind.resource), accept=TABLE["Accept"])
    p.send("GET", p.path(kind.resource, "a"), None, TABLE, includeObject="Object")
    kind.end()


@scenario("crds")
def several_versions(p: ScenarioClient) -> None:
    group = f"{p.namespace}.example.com"
    body = definition(group, structural(objects(a={"type": "string", "default": "one"})))
    other = {**body["spec"]["versions"][0], "name": "v2beta1", "storage": False, "deprecated": True}
    other["schema"] = {"openAPIV3Schema": structural(objects(a=STRING, b={"type": "string", "default": "two"}))}
    hidden = {**other, "name": "v3", "served": False, "deprecated": False}
    body["spec"]["versions"] += [other, hidden]
    p.create("customresourcedefinitions", body)
    p.wait_for(p.path(f"/apis/{group}/v2beta1/widgets"))
    p.wait_for(p.path(f"/apis/{group}/v1/widgets"))
    old, new, none = (f"/apis/{group}/{version}/widgets" for version in ("v2beta1", "v1", "v3"))
    p.create(new, manifest(f"{group}/v1", "Widget", "n", {"spec": {"b": "x"}}))
    p.create(old, manifest(f"{group}/v2beta1", "Widget", "o", {"spec": {"b": "x"}}))
    p.create(old, manifest(f"{group}/v1", "Widget", "wrong", {"spec": {}}))
    for resource in (new, old, none):
        p.list(resource)
    p.read(old, "n")
    p.read(new, "o")
    p.patch("merge", old, "n", {"spec": {"b": "y"}})
    p.send("GET", f"/apis/{group}")
    warned = {**other, "deprecationWarning": "use v1, please"}
    p.patch(
        "json",
        "customresourcedefinitions",
        body["metadata"]["name"],
        [{"op": "replace", "path": "/spec/versions/1", "value": warned}],
    )
    p.patch("merge", "customresourcedefinitions", body["metadata"]["name"], {"status": {"storedVersions": ["v2beta1"]}}, "status")
    p.delete("customresourcedefinitions", body["metadata"]["name"])
    p.gone("customresourcedefinitions", body["metadata"]["name"])


@scenario("crds")
def a_deleted_definition_deletes_its_objects(p: ScenarioClient) -> None:
    kind = Kind(p, structural())
    held = kind.body("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    kind.create("a")
    p.create(kind.resource, held)
    p.delete("customresourcedefinitions", kind.name)
    p.until(lambda response: response.at("metadata.deletionTimestamp") != "missing", p.path(kind.resource, "held"))
    kind.create("late")
    p.gone(kind.resource, "a")
    p.patch("merge", kind.resource, "held", {"metadata": {"finalizers": None}})
    p.gone("customresourcedefinitions", kind.name)


@scenario("crds")
def a_schema_that_changes(p: ScenarioClient) -> None:
    kind = Kind(p, structural(objects(a=STRING)))
    kind.create("old", spec={"a": "long text"})
    strict = definition(kind.group, structural(objects(a={**STRING, "maxLength": 3}, b=STRING)))
    p.patch("merge", "customresourcedefinitions", kind.name, {"spec": {"versions": strict["spec"]["versions"]}})
    p.until(
        lambda response: response.status == 422, p.path(kind.resource), kind.body("new", spec={"a": "too long"}), dryRun="All"
    )
    p.read(kind.resource, "old")
    p.patch("merge", kind.resource, "old", {"metadata": {"labels": {"x": "y"}}})
    p.patch("merge", kind.resource, "old", {"spec": {"b": "x"}})
    p.patch("merge", kind.resource, "old", {"spec": {"a": "also too long"}})
    p.patch("merge", kind.resource, "old", {"spec": {"a": "ok"}})
    kind.end()


@scenario("crds")
def cluster_wide_definitions(p: ScenarioClient) -> None:
    group = f"{p.namespace}.example.com"
    body = definition(group, structural())
    body["spec"]["scope"] = "Cluster"
    body["spec"]["names"] |= {"shortNames": ["wd"], "categories": ["all"]}
    p.create("customresourcedefinitions", body)
    path = f"/apis/{group}/v1/widgets"
    p.wait_for(path)
    p.send("POST", path, manifest(f"{group}/v1", "Widget", "w", {}))
    p.send("POST", path, manifest(f"{group}/v1", "Widget", "w2", {}, {"namespace": p.namespace}))
    p.send("GET", path)
    p.send("GET", f"/apis/{group}/v1/namespaces/{p.namespace}/widgets")
    p.send("GET", f"/apis/{group}/v1", keep=bare)
    p.delete("customresourcedefinitions", body["metadata"]["name"])
    p.gone("customresourcedefinitions", body["metadata"]["name"])


@scenario("crds")
def selectable_fields(p: ScenarioClient) -> None:
    schema = structural(objects(colour=STRING, size=INTEGER))
    kind = Kind(p, schema, selectableFields=[{"jsonPath": ".spec.colour"}, {"jsonPath": ".spec.size"}])
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        kind.create(name, spec={"colour": colour, "size": 1})
    for selector in ("spec.colour=red", "spec.colour!=red", "spec.colour=red,spec.size=1", "spec.other=x"):
        p.list(kind.resource, fieldSelector=selector)
    kind.end()


@scenario("crds")
def selectable_fields_of_existing_objects(p: ScenarioClient) -> None:
    kind = Kind(p, structural(objects(colour=STRING)))
    for name, colour in (("a", "red"), ("b", "blue")):
        kind.create(name, spec={"colour": colour})
    p.list(kind.resource, fieldSelector="spec.colour=red")
    p.list(kind.resource, labelSelector="none=such")
    fields = {"op": "add", "path": "/spec/versions/0/selectableFields", "value": [{"jsonPath": ".spec.colour"}]}
    p.patch("json", "customresourcedefinitions", kind.name, [fields])
    p.until(lambda listed: listed.status == 200, p.path(kind.resource), fieldSelector="spec.colour=red")
    for selector in ("spec.colour=red", "spec.colour!=red", "spec.colour=green"):
        p.list(kind.resource, fieldSelector=selector)
    kind.end()
