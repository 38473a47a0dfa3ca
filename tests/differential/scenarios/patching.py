"""JSON patches, merge patches, strategic merge patches: results and errors."""

from __future__ import annotations

from typing import Any

from tests.differential import bodies
from tests.differential.bodies import config_map, container, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario


def operation(name: str, path: str, **rest: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **rest}


@scenario("patch")
def json_patches(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a", {"a": "1", "b": "2"}, labels={"l": "m"}, annotations={"x.y/z": "1"}))
    for patch in (
        [operation("add", "/data/c", value="3")],
        [operation("replace", "/data/a", value="9"), operation("test", "/data/a", value="9")],
        [operation("remove", "/data/b")],
        [operation("move", "/data/moved", **{"from": "/data/c"})],
        [operation("copy", "/data/copied", **{"from": "/data/a"})],
        [operation("replace", "/metadata/annotations/x.y~1z", value="slash"), operation("add", "/data/t~0u", value="tilde")],
        [operation("replace", "/metadata/annotations/x.y~1z", value="slash")],
        [operation("add", "/metadata/labels/new", value="1")],
        [operation("remove", "/metadata/labels")],
        [operation("add", "/metadata/annotations", value={"k": "v"})],
        [],
    ):
        p.patch("json", "configmaps", "a", patch)
    p.read("configmaps", "a")


@scenario("patch")
def json_patches_that_fail(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a"))
    for patch in (
        [operation("test", "/data/a", value="2")],
        [operation("test", "/data/none", value="2")],
        [operation("remove", "/data/none")],
        [operation("replace", "/data/none", value="x")],
        [operation("replace", "/none/x", value="x")],
        [operation("add", "/none/x", value="x")],
        [operation("copy", "/data/b", **{"from": "/data/none"})],
        [operation("move", "/data/b", **{"from": "/data/none"})],
        [operation("dance", "/data/a")],
        [operation("add", "/data/b", value=7)],
        [operation("add", "data/b", value="x")],
        [operation("add", "", value="x")],
        [operation("replace", "", value={"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}})],
        [operation("replace", "/metadata/name", value="b")],
        [operation("replace", "/kind", value="Secret")],
        [operation("replace", "/apiVersion", value="v2")],
        [{"op": "add", "path": "/data/b"}],
        [{"path": "/data/b", "value": "x"}],
        [{"op": "add", "value": "x"}],
        [operation("add", "/metadata/finalizers/-", value="example.com/x")],
        [operation("add", "/metadata/finalizers/0", value="example.com/x")],
        {"op": "add", "path": "/data/b", "value": "x"},
        "[",
        "",
        "null",
        '["x"]',
    ):
        p.patch("json", "configmaps", "a", patch)
    p.patch("json", "configmaps", "none", [operation("add", "/data/b", value="x")])
    p.patch("json", "configmaps", "none", "[")
    p.patch("json", "configmaps", "a", [operation("add", f"/data/k{number}", value="x") for number in range(10001)])


@scenario("patch")
def json_patches_of_lists(p: ScenarioClient) -> None:
    p.create("pods", pod("a", container("one"), container("two"), nodeSelector={"a": "b"}))
    p.patch("json", "pods", "a", [operation("replace", "/spec/containers/1/image", value="new:2")])
    p.patch("json", "pods", "a", [operation("replace", "/spec/containers/2/image", value="new:2")])
    p.patch("json", "pods", "a", [operation("replace", "/spec/containers/-1/image", value="new:2")])
    p.patch("json", "pods", "a", [operation("add", "/spec/tolerations/-", value={"key": "a", "operator": "Exists"})])
    p.patch("json", "pods", "a", [operation("add", "/spec/tolerations/99", value={"key": "a", "operator": "Exists"})])
    p.patch("json", "pods", "a", [operation("remove", "/spec/containers/0")])
    p.patch("json", "pods", "a", [operation("test", "/spec/containers", value=[])])


@scenario("patch")
def merge_patches(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a", {"a": "1", "b": "2"}, labels={"l": "m", "n": "o"}))
    patches: list[Any] = [
        {"data": {"a": None, "c": "3"}},
        {"data": None},
        {"metadata": {"labels": {"l": None}}},
        {"metadata": {"labels": None, "annotations": {"x": "y"}}},
        {"data": {"z": "1"}, "binaryData": {"b": "AAEC"}},
        {"binaryData": {"z": "AAEC"}},
        {},
        {"metadata": None},
        {"data": {"a": 5}},
        {"data": "text"},
        {"kind": "Secret"},
        {"apiVersion": "v9"},
        {"unknown": {"x": 1}},
        [],
        "{",
        "",
        "null",
        '"text"',
        "7",
    ]
    for patch in patches:
        p.patch("merge", "configmaps", "a", patch)
    p.patch("merge", "configmaps", "none", {"data": {"a": "1"}})
    p.read("configmaps", "a")


@scenario("patch")
def strictness_of_patches(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a"))
    p.create("pods", pod("p"))
    for how in ("Strict", "Warn", "Ignore", "Never"):
        p.patch("merge", "configmaps", "a", {"colour": "red", "metadata": {"shape": "round"}}, fieldValidation=how)
        p.patch(
            "strategic",
            "pods",
            "p",
            {"spec": {"containers": [{"name": "main", "imagee": "x"}], "colour": 1}},
            fieldValidation=how,
        )
        p.patch("json", "configmaps", "a", [operation("add", "/colour", value="red")], fieldValidation=how)
        p.patch("merge", "configmaps", "a", '{"data":{"k":"1","k":"2"}}', fieldValidation=how)
        p.patch("strategic", "configmaps", "a", '{"data":{"k":"1","k":"2"}}', fieldValidation=how)


@scenario("patch")
def strategic_patches_of_lists_with_keys(p: ScenarioClient) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    ports = [{"containerPort": 80, "name": "web"}]
    template: dict[str, Any] = {"spec": {"containers": [container("main", env=env, ports=ports), container("side")]}}
    template["metadata"] = {"labels": {"app": "t"}}
    spec: dict[str, Any] = {"replicas": 0, "selector": {"matchLabels": {"app": "t"}}, "template": template}
    p.create("replicasets", bodies.manifest("apps/v1", "ReplicaSet", "t", {"spec": spec}))
    inner: list[dict[str, Any]] = [
        {"containers": [{"name": "side", "image": "new:2"}]},
        {"containers": [{"name": "main", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]}]},
        {"containers": [{"name": "main", "env": [{"name": "A", "$patch": "delete"}]}]},
        {"containers": [{"name": "side", "$patch": "delete"}]},
        {"containers": [{"name": "first", "image": "i"}, {"name": "main"}]},
        {"$setElementOrder/containers": [{"name": "main"}, {"name": "first"}], "containers": [{"name": "first", "image": "j"}]},
        {"containers": [{"name": "main", "ports": [{"containerPort": 81}]}]},
        {"containers": [{"name": "main", "args": ["a", "b"]}]},
        {"containers": [{"name": "main", "args": None}]},
        {"tolerations": [{"key": "k", "operator": "Exists"}]},
        {"tolerations": [{"key": "l", "operator": "Exists"}]},
        {"nodeSelector": {"a": "b"}},
        {"nodeSelector": {"$patch": "replace", "c": "d"}},
        {"$retainKeys": ["containers", "restartPolicy"], "restartPolicy": "Always", "containers": [{"name": "main"}]},
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"volumes": [{"name": "v", "emptyDir": None, "hostPath": {"path": "/x"}}]},
        {"containers": [{"$patch": "replace"}, {"name": "only", "image": "o"}]},
    ]
    for each in inner:
        p.patch("strategic", "replicasets", "t", {"spec": {"template": {"spec": each}}})


@scenario("patch")
def strategic_patches_of_metadata(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a", labels={"a": "1"}, finalizers=["example.com/a", "example.com/b"]))
    p.patch("strategic", "configmaps", "a", {"metadata": {"finalizers": ["example.com/c", "example.com/a"]}})
    p.patch("strategic", "configmaps", "a", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/b"]}})
    order = ["example.com/c", "example.com/a"]
    p.patch("strategic", "configmaps", "a", {"metadata": {"$setElementOrder/finalizers": order, "finalizers": ["example.com/c"]}})
    uids = [p.create("configmaps", config_map(name)).at("metadata.uid") for name in ("o", "q")]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uids[0]}
    p.patch("strategic", "configmaps", "a", {"metadata": {"ownerReferences": [owner]}})
    p.patch("strategic", "configmaps", "a", {"metadata": {"ownerReferences": [{**owner, "name": "q", "uid": uids[1]}]}})
    p.patch("strategic", "configmaps", "a", {"metadata": {"ownerReferences": [{"uid": uids[0], "$patch": "delete"}]}})
    p.patch("strategic", "configmaps", "a", {"metadata": {"labels": {"a": None, "b": "2"}}})
    p.patch("strategic", "configmaps", "a", {"metadata": {"finalizers": None, "ownerReferences": None}})


@scenario("patch")
def strategic_patches_that_fail(p: ScenarioClient) -> None:
    p.create("pods", pod("a"))
    patches: list[Any] = [
        {"spec": {"containers": [{"image": "x"}]}},
        {"spec": {"containers": "text"}},
        {"spec": {"containers": [7]}},
        {"spec": {"containers": {"name": "main"}}},
        {"spec": "text"},
        {"spec": {"$patch": "dance"}},
        {"spec": {"containers": [{"name": "main", "$patch": "dance"}]}},
        {"spec": {"$setElementOrder/containers": [{"name": "x"}], "containers": [{"name": "main", "image": "y"}]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": "x"}},
        {"metadata": {"labels": ["a"]}},
        {"$patch": "delete"},
        [], "{", "", "null",
    ]  # fmt: skip
    for patch in patches:
        p.patch("strategic", "pods", "a", patch)


@scenario("patch")
def media_types_of_patches(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a"))
    p.create("pytorchjobs", bodies.training_job("PyTorchJob", "t"))
    for kind in (
        "application/json",
        "text/plain",
        "",
        "application/merge-patch+json; charset=utf-8",
        "application/apply-patch+cbor",
    ):
        p.patch(kind, "configmaps", "a", {"data": {"b": "1"}})
        p.patch(kind, "pytorchjobs", "t", {"metadata": {"labels": {"b": "1"}}})
    p.patch("strategic", "pytorchjobs", "t", {"metadata": {"labels": {"b": "1"}}})
    p.patch("strategic", "pytorchjobs", "t", {"metadata": {"labels": {"b": "1"}}}, "status")
    p.patch("merge", "configmaps", "a", {"data": {"c": "1"}}, dryRun="All")
    p.patch("merge", "configmaps", "a", {"data": {"c": "1"}}, force="true")
    p.patch("merge", "configmaps", "a", {"data": {"c": "1"}}, fieldManager="m" * 129)
    p.send("PATCH", p.path("configmaps"), {"data": {}}, {"Content-Type": "application/merge-patch+json"})


@scenario("patch")
def a_patch_with_a_version(p: ScenarioClient) -> None:
    version = p.create("configmaps", config_map("a")).at("metadata.resourceVersion")
    p.patch("merge", "configmaps", "a", {"metadata": {"resourceVersion": version}, "data": {"b": "1"}})
    p.patch("merge", "configmaps", "a", {"metadata": {"resourceVersion": version}, "data": {"c": "1"}})
    p.patch("strategic", "configmaps", "a", {"metadata": {"resourceVersion": version}, "data": {"c": "1"}})
    p.patch("json", "configmaps", "a", [operation("test", "/metadata/resourceVersion", value=version)])
    p.patch("merge", "configmaps", "a", {"metadata": {"uid": "11111111-2222-3333-4444-555555555555"}})
