from __future__ import annotations

from typing import Any

from traincrew.embedded.apiserver.schema import builtin_kinds

BUILTINS = builtin_kinds.load()


def test_a_reference_resolves_to_the_shared_definition() -> None:
    pod, replica_set = BUILTINS.schema("", "v1", "Pod"), BUILTINS.schema("apps", "v1", "ReplicaSet")
    template = replica_set["properties"]["spec"]["properties"]["template"]
    spec = pod["properties"]["spec"]
    assert spec["properties"]["containers"] is template["properties"]["spec"]["properties"]["containers"]


def test_a_definition_may_contain_itself() -> None:
    crd = BUILTINS.schema("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    version = crd["properties"]["spec"]["properties"]["versions"]["items"]
    schema = version["properties"]["schema"]["properties"]["openAPIV3Schema"]
    assert schema["properties"]["not"]["properties"] is schema["properties"]


def test_no_reference_is_left_in_the_graph() -> None:
    seen = set[int]()

    def walk(schema: dict[str, Any]) -> None:
        assert "$ref" not in schema
        assert "allOf" not in schema
        if id(schema) not in seen:
            seen.add(id(schema))
            for inner in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
                if isinstance(inner, dict):
                    walk(inner)

    for resource in BUILTINS.resources():
        walk(resource.schema)
    assert len(seen) > 1000


def test_every_reference_of_the_documents_has_its_definition() -> None:
    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"].rpartition("/")[2]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*(references(inner) for inner in value.values()))
        return set().union(*(references(inner) for inner in value)) if isinstance(value, list) else set()

    assert references(BUILTINS.definitions) <= set(BUILTINS.definitions)


def test_list_schemas_define_how_lists_are_merged() -> None:
    containers = BUILTINS.schema("", "v1", "Pod")["properties"]["spec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


def test_pods_are_served_with_their_subresources() -> None:
    pods = next(each for each in BUILTINS.resources() if each.plural == "pods")
    assert (pods.kind, pods.short_names, pods.categories, pods.namespaced) == ("Pod", ("po",), ("all",), True)
    eviction = pods.subresource("eviction")
    assert eviction is not None
    assert (eviction.group, eviction.version, eviction.kind, eviction.verbs) == ("policy", "v1", "Eviction", ("create",))
    assert pods.subresource("log") is not None
    proxy = pods.subresource("proxy")
    assert proxy is not None
    assert (proxy.kind, proxy.verbs) == ("PodProxyOptions", ("create", "delete", "get", "patch", "update"))


def test_bodies_of_subresources_have_schemas_too() -> None:
    for group, version, kind in (
        ("policy", "v1", "Eviction"),
        ("autoscaling", "v1", "Scale"),
        ("authentication.k8s.io", "v1", "TokenRequest"),
        ("", "v1", "DeleteOptions"),
        ("", "v1", "Binding"),
        ("authorization.k8s.io", "v1", "SelfSubjectRulesReview"),
    ):
        assert BUILTINS.schema(group, version, kind)["properties"]
