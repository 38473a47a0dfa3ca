"""Creation: names, invalid bodies, dry runs, strictness."""

from __future__ import annotations

from tests.differential.bodies import config_map, generated, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario

JSON = {"Content-Type": "application/json"}
YAML = {"Content-Type": "application/yaml"}


@scenario("create")
def an_object_is_created_only_once(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("one", labels={"x": "y"}, annotations={"note": "n"}))
    p.read("configmaps", "one")
    p.create("configmaps", config_map("one"))
    p.create("configmaps", config_map("one"), dryRun="All")


@scenario("create")
def names_of_config_maps(p: ScenarioClient) -> None:
    for name in ("UPPER", "under_score", "-first", "last-", "a.", "a" * 254, "a" * 253, "with space", "ünï", "a/b", "..", "1"):
        p.create("configmaps", config_map(name))
    p.create("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
    p.create("configmaps", {"apiVersion": "v1", "kind": "ConfigMap"})
    p.create("configmaps", config_map("", data={"a": "1"}))


@scenario("create")
def names_of_pods_and_services(p: ScenarioClient) -> None:
    for name in ("UPPER", "a.b", "a" * 64, "1st", "a" * 253):
        p.create("pods", pod(name))
    for name in ("1st", "a.b", "a" * 64, "Upper"):
        p.create(
            "services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 1}]}}
        )


@scenario("create")
def names_are_generated(p: ScenarioClient) -> None:
    created = p.create("configmaps", generated("some-"))
    p.read("configmaps", created.at("metadata.name"))
    p.create("configmaps", generated("Upper-"))
    p.create("configmaps", generated("x" * 250))
    p.create("configmaps", generated("ignored-", name="given"))
    p.create("configmaps", generated("dry-"), dryRun="All")


@scenario("create")
def a_dry_run_keeps_nothing(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("dry"), dryRun="All")
    p.read("configmaps", "dry")
    p.create("configmaps", config_map("dry"), dryRun="Some")
    p.create("configmaps", config_map("dry"), dryRun="")
    p.send("POST", p.path("configmaps") + "?dryRun=All&dryRun=All", config_map("dry-2"))


@scenario("create")
def unknown_fields_by_strictness(p: ScenarioClient) -> None:
    body = {**config_map("strict"), "colour": "red", "metadata": {"name": "strict", "shape": "round"}}
    for how in ("Strict", "Warn", "Ignore", "", "Sometimes"):
        p.create("configmaps", body, fieldValidation=how, dryRun="All")
    p.create("configmaps", body, dryRun="All")
    with_unknown_fields = pod(
        "strict", {"name": "main", "image": "i", "imagee": "j", "ports": [{"containerPort": 1, "nme": "x"}]}, colour=1
    )
    for how in ("Strict", "Warn", "Ignore"):
        p.create("pods", with_unknown_fields, fieldValidation=how, dryRun="All")


@scenario("create")
def duplicate_fields_by_strictness(p: ScenarioClient) -> None:
    twice = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"b"},"data":{"k":"1","k":"2"},"data":{"l":"3"}}'
    for how in ("Strict", "Warn", "Ignore"):
        p.create("configmaps", twice, fieldValidation=how, dryRun="All")
    written = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  name: b\ndata:\n  k: '1'\n  k: '2'\n"
    for how in ("Strict", "Warn", "Ignore"):
        p.send("POST", p.path("configmaps"), written, YAML, fieldValidation=how, dryRun="All")
    mixed = '{"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","name":"b","image":"i","x":1}]}}'
    for how in ("Strict", "Warn"):
        p.create("pods", mixed, fieldValidation=how, dryRun="All")


@scenario("create")
def values_of_wrong_types(p: ScenarioClient) -> None:
    p.create("configmaps", {**config_map("wrong"), "data": {"a": 1}})
    p.create("configmaps", {**config_map("wrong"), "data": ["a"]})
    p.create("configmaps", {**config_map("wrong"), "data": "a"})
    p.create("configmaps", {**config_map("wrong"), "immutable": "yes"})
    p.create("configmaps", {**config_map("wrong"), "binaryData": {"a": "not base64!"}})
    p.create("configmaps", {**config_map("wrong"), "metadata": "text"})
    p.create("configmaps", {**config_map("wrong"), "metadata": {"name": 7}})
    p.create("configmaps", {**config_map("wrong"), "metadata": {"name": "wrong", "labels": {"a": True}}})
    p.create("configmaps", {**config_map("wrong"), "metadata": {"name": "wrong", "creationTimestamp": "yesterday"}})
    p.create("pods", pod("wrong", {"name": "main", "image": ["i"]}))
    p.create("pods", pod("wrong", {"name": "main", "image": "i", "ports": [{"containerPort": "80"}]}))
    p.create("pods", pod("wrong", {"name": "main", "image": "i", "ports": [{"containerPort": 1.5}]}))
    p.create("pods", pod("wrong", {"name": "main", "image": "i", "resources": {"limits": {"cpu": "many"}}}))
    p.create("pods", pod("wrong", {"name": "main", "image": "i", "command": "sh"}))
    p.create("pods", pod("wrong", terminationGracePeriodSeconds="ten"))
    p.create("pods", pod("wrong", hostNetwork=1))
    p.create("pods", pod("wrong", volumes={"a": 1}))


@scenario("create")
def bodies_that_are_no_objects(p: ScenarioClient) -> None:
    for body in (
        "",
        "{",
        "null",
        "[]",
        '"text"',
        "7",
        "{}",
        "{]",
        '{"a":1}{"b":2}',
        '{"apiVersion":"v1"',
        "\x00",
        "not: json: at all",
    ):
        p.send("POST", p.path("configmaps"), body, JSON)
    p.send("POST", p.path("configmaps"), b"\xff\xfe{", JSON)
    for body in ("{", "- a", "a: b: c", "\t- x", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n name: [", "just text"):
        p.send("POST", p.path("configmaps"), body, YAML)


@scenario("create")
def yaml_bodies(p: ScenarioClient) -> None:
    p.send("POST", p.path("configmaps"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata:\n  a: 'b'\n", YAML)
    p.send("POST", p.path("configmaps"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: n\ndata:\n  a: 1\n", YAML)
    p.send("POST", p.path("configmaps"), "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d\n", YAML)
    p.send("GET", p.path("configmaps", "y"), None, {"Accept": "application/yaml"})


@scenario("create")
def kinds_and_versions_that_do_not_fit(p: ScenarioClient) -> None:
    p.create("configmaps", {**config_map("kind"), "kind": "Secret"})
    p.create("configmaps", {**config_map("kind"), "kind": "Nothing"})
    p.create("configmaps", {**config_map("kind"), "kind": ""})
    p.create("configmaps", {**config_map("kind"), "apiVersion": "v2"})
    p.create("configmaps", {**config_map("kind"), "apiVersion": "apps/v1"})
    p.create("configmaps", {**config_map("kind"), "apiVersion": "a/b/c"})
    p.create("configmaps", {"metadata": {"name": "bare"}, "data": {"a": "1"}})
    p.create("configmaps", {"kind": "ConfigMap", "metadata": {"name": "bare"}})
    p.create("configmaps", {"apiVersion": "v1", "metadata": {"name": "bare-2"}})
    p.create("pods", {"apiVersion": "v1", "kind": "List", "items": []})


@scenario("create")
def namespaces_that_do_not_fit(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("away", namespace="elsewhere"))
    p.create("configmaps", config_map("home", namespace=p.namespace))
    p.send("POST", "/api/v1/namespaces/no-such-place/configmaps", config_map("lost"))
    p.send("POST", "/api/v1/namespaces/no-such-place/configmaps", config_map("lost"), dryRun="All")
    p.send("POST", "/api/v1/namespaces/Bad_Name/configmaps", config_map("lost"))
    p.send("POST", "/api/v1/configmaps", config_map("nowhere", namespace=p.namespace))
    p.send("GET", "/api/v1/namespaces/no-such-place/configmaps")
    p.send("GET", "/api/v1/namespaces/no-such-place/configmaps/x")
    p.send("POST", p.path("configmaps", "named"), config_map("named"))
    p.send(
        "POST", "/api/v1/nodes", {**config_map("x"), "kind": "Node", "metadata": {"name": p.name("n"), "namespace": "default"}}
    )


@scenario("create")
def fields_that_only_the_server_sets(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("version", resourceVersion="7"))
    p.create("configmaps", config_map("zero", resourceVersion="0"))
    p.create(
        "configmaps",
        config_map(
            "claims",
            uid="11111111-2222-3333-4444-555555555555",
            creationTimestamp="2001-02-03T04:05:06Z",
            deletionTimestamp="2001-02-03T04:05:06Z",
            deletionGracePeriodSeconds=5,
            generation=9,
            selfLink="/somewhere",
        ),
    )
    p.create("pods", {**pod("phase"), "status": {"phase": "Running", "podIP": "1.2.3.4"}})


@scenario("create")
def metadata_is_validated(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("meta", labels={"a b": "c"}))
    p.create("configmaps", config_map("meta", labels={"a": "b c"}))
    p.create("configmaps", config_map("meta", labels={"a": "x" * 64}))
    p.create("configmaps", config_map("meta", labels={"x" * 64: "a"}))
    for key in ("UPPER.example.com/a", "a/b/c", "", "/a", "a/", "x" * 254 + "/a"):
        p.create("configmaps", config_map("meta", labels={key: "a"}))
    p.create("configmaps", config_map("meta", annotations={"a b": "c"}))
    p.create("configmaps", config_map("meta", annotations={"a": "x" * (256 * 1024 + 1)}))
    p.create("configmaps", config_map("meta", finalizers=["no-domain"]))
    p.create("configmaps", config_map("meta", finalizers=["example.com/ok", "bad finalizer"]))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    p.create("configmaps", config_map("meta", ownerReferences=[{**owner, "uid": ""}]))
    p.create("configmaps", config_map("meta", ownerReferences=[{**owner, "kind": "", "name": "", "apiVersion": ""}]))
    p.create("configmaps", config_map("meta", ownerReferences=[{**owner, "apiVersion": "v1", "kind": "Event"}]))
    p.create(
        "configmaps",
        config_map("meta", ownerReferences=[{**owner, "controller": True}, {**owner, "uid": "v", "controller": True}]),
    )
    p.create("configmaps", config_map("meta", managedFields=[{"manager": "m", "operation": "Nonsense"}]))


@scenario("create")
def a_body_that_is_too_large(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("large", {"a": "x" * (1 << 20)}))
    p.create("configmaps", config_map("huge", {"a": "x" * (4 << 20)}))


@scenario("create")
def media_types_of_bodies(p: ScenarioClient) -> None:
    body = config_map("typed")
    for kind in ("text/plain", "application/xml", "application/json; charset=utf-8", "nonsense", "application/merge-patch+json"):
        p.send("POST", p.path("configmaps"), body, {"Content-Type": kind}, dryRun="All")
    p.send("POST", p.path("configmaps"), body, {"Content-Type": ""}, dryRun="All")


@scenario("create")
def validation_of_field_managers(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("managed"), fieldManager="x" * 129, dryRun="All")
    p.create("configmaps", config_map("managed"), fieldManager="b\u0007ll", dryRun="All")
    p.create("configmaps", config_map("managed"), fieldManager="ok", dryRun="All")
    p.create("configmaps", config_map("managed"), pretty="true", dryRun="All")
    p.create("configmaps", config_map("managed"), unknownParameter="1", dryRun="All")


@scenario("create")
def a_terminating_namespace_rejects_new_objects(p: ScenarioClient) -> None:
    name = p.name("ending")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    p.create("namespaces", body)
    inside = f"/api/v1/namespaces/{name}/configmaps"
    p.send("POST", inside, config_map("kept", finalizers=["example.com/wait"]))
    p.delete("namespaces", name)
    p.send("POST", inside, config_map("late"))
    p.send("POST", inside, config_map("late"), dryRun="All")
    p.until(lambda response: "deletionTimestamp" in response.at("metadata", {}), f"{inside}/kept")
    p.send("PATCH", f"{inside}/kept", {"metadata": {"finalizers": None}}, {"Content-Type": "application/merge-patch+json"})
    p.gone("namespaces", name)
