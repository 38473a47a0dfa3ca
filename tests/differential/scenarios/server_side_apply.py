"""Server-side apply: ownership, conflicts, force."""

from __future__ import annotations

from typing import Any

from tests.differential import bodies
from tests.differential.bodies import config_map, container, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario
from tests.differential.target import Response


def apply(
    p: ScenarioClient, body: Any, manager: str = "one", resource: str = "configmaps", sub: str = "", **query: Any
) -> Response:
    return p.patch("apply", resource, body["metadata"]["name"], body, sub, fieldManager=manager, **query)


@scenario("apply")
def applied_created_changed_and_left_out(p: ScenarioClient) -> None:
    apply(p, config_map("a", {"a": "1", "b": "2"}))
    apply(p, config_map("a", {"a": "1", "b": "2"}))
    apply(p, config_map("a", {"a": "1", "b": "3"}, labels={"l": "m"}))
    apply(p, config_map("a", {"a": "1"}))
    apply(p, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    p.read("configmaps", "a")


@scenario("apply")
def two_managers_and_their_conflicts(p: ScenarioClient) -> None:
    apply(p, config_map("a", {"a": "1", "b": "2"}))
    apply(p, config_map("a", {"a": "9"}), "two")
    apply(p, config_map("a", {"a": "9", "b": "8"}, labels={"x": "y"}), "two")
    apply(p, config_map("a", {"a": "9"}), "two", force="true")
    apply(p, config_map("a", {"a": "1", "b": "2"}))
    apply(p, config_map("a", {"a": "9", "c": "3"}), "two")
    apply(p, config_map("a", {"a": "9", "b": "2"}))
    apply(p, config_map("a", {"c": "3"}), "two")
    apply(p, config_map("a", {"b": "2"}))
    apply(p, config_map("a", {"b": "7"}), "two", force="nonsense")
    apply(p, config_map("a", {"b": "7"}), "two", force="false")


@scenario("apply")
def other_writes_take_ownership(p: ScenarioClient) -> None:
    apply(p, config_map("a", {"a": "1", "b": "2", "c": "3"}))
    p.patch("merge", "configmaps", "a", {"data": {"a": "5"}}, fieldManager="writer")
    live = p.read("configmaps", "a").object
    live["data"] = {"a": "5", "b": "6"}
    p.replace("configmaps", "a", live, fieldManager="replacer")
    p.patch("json", "configmaps", "a", [{"op": "add", "path": "/data/d", "value": "4"}], fieldManager="writer")
    p.patch("strategic", "configmaps", "a", {"metadata": {"labels": {"l": "m"}}}, fieldManager="writer")
    apply(p, config_map("a", {"a": "1", "b": "2", "c": "3"}))
    apply(p, config_map("a", {"a": "1", "b": "2", "c": "3"}), force="true")
    p.read("configmaps", "a")


@scenario("apply")
def only_the_times_of_managed_fields_differ(p: ScenarioClient) -> None:
    apply(p, config_map("a", {"a": "1"}))
    live = p.read("configmaps", "a").object
    live["metadata"]["managedFields"][0]["time"] = "2020-01-01T00:00:00Z"
    p.replace("configmaps", "a", live)
    p.patch("merge", "configmaps", "a", {"metadata": {"managedFields": live["metadata"]["managedFields"]}})
    del live["metadata"]["resourceVersion"]
    p.replace("configmaps", "a", live)
    p.read("configmaps", "a")


@scenario("apply")
def the_first_apply_to_a_created_object(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a", {"a": "1", "b": "2"}), fieldManager="creator")
    apply(p, config_map("a", {"a": "1", "c": "3"}))
    apply(p, config_map("a", {"b": "9"}), "two")


@scenario("apply")
def applies_that_are_rejected(p: ScenarioClient) -> None:
    body = config_map("a")
    p.patch("apply", "configmaps", "a", body)
    apply(p, body, "")
    apply(p, body, "m" * 129)
    p.patch("apply", "configmaps", "b", body, fieldManager="one")
    p.patch("apply", "configmaps", "a", {"kind": "ConfigMap", "metadata": {"name": "a"}}, fieldManager="one")
    p.patch("apply", "configmaps", "a", {"apiVersion": "v1", "metadata": {"name": "a"}}, fieldManager="one")
    p.patch("apply", "configmaps", "a", {**body, "kind": "Secret"}, fieldManager="one")
    p.patch("apply", "configmaps", "a", {**body, "apiVersion": "v2"}, fieldManager="one")
    p.patch("apply", "configmaps", "a", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"z": "1"}}, fieldManager="one")
    apply(p, config_map("a", uid="11111111-2222-3333-4444-555555555555"))
    apply(p, config_map("a", resourceVersion="5"))
    apply(p, config_map("a", managedFields=[{"manager": "x", "operation": "Apply", "apiVersion": "v1"}]))
    apply(p, config_map("a", namespace="elsewhere"))
    apply(p, {**body, "data": {"a": 1}})
    apply(p, {**body, "data": ["a"]})
    apply(p, {**body, "colour": "red"})
    for text in ("{", "", "null", "[]", "text", "a: b: c", "\t"):
        p.patch("apply", "configmaps", "a", text, fieldManager="one")


@scenario("apply")
def strictness_of_apply(p: ScenarioClient) -> None:
    body = {**config_map("a"), "colour": "red"}
    for how in ("Strict", "Warn", "Ignore"):
        apply(p, body, fieldValidation=how)
    twice = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  k: '1'\n  k: '2'\n"
    for how in ("Strict", "Warn", "Ignore"):
        p.patch("apply", "configmaps", "b", twice, fieldManager="one", fieldValidation=how)


@scenario("apply")
def a_dry_run_of_apply(p: ScenarioClient) -> None:
    apply(p, config_map("a"), dryRun="All")
    p.read("configmaps", "a")
    apply(p, config_map("a"))
    apply(p, config_map("a", {"a": "2"}), "two", dryRun="All")
    apply(p, config_map("a", {"a": "2"}), "two", dryRun="All", force="true")
    p.read("configmaps", "a")


@scenario("apply")
def lists_with_keys_are_merged(p: ScenarioClient) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    body = pod("a", container("main", env=env, ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]))
    apply(p, body, resource="pods")
    apply(p, pod("a", container("main", image="train:2")), "two", "pods")
    apply(p, pod("a", container("main", image="train:2")), "two", "pods", force="true")
    apply(p, pod("a", container("main"), container("main")), "two", "pods")
    apply(p, pod("a", {"image": "nameless"}), "two", "pods")
    apply(p, {**pod("a"), "metadata": {"name": "a", "finalizers": ["example.com/x"]}}, "three", "pods")
    apply(p, {**pod("a"), "metadata": {"name": "a", "finalizers": ["example.com/y"]}}, "four", "pods")
    p.patch("merge", "pods", "a", {"metadata": {"finalizers": None}})


@scenario("apply")
def ports_of_services_are_merged(p: ScenarioClient) -> None:
    apply(p, bodies.service("s", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 90}]), resource="services")
    apply(p, bodies.service("s", ports=[{"name": "c", "port": 70}]), "two", "services")
    apply(p, bodies.service("s", ports=[{"name": "x", "port": 80}]), "two", "services")
    apply(p, bodies.service("s", ports=[{"name": "a", "port": 80}]), resource="services")


@scenario("apply")
def apply_of_the_status(p: ScenarioClient) -> None:
    apply(p, pod("a"), resource="pods")
    status = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "status": {"phase": "Running", "message": "m"}}
    apply(p, status, "kubelet", "pods", "status")
    apply(p, {**status, "status": {"phase": "Failed"}}, "other", "pods", "status")
    apply(p, {**status, "status": {"message": "m"}}, "kubelet", "pods", "status")
    apply(p, {**status, "metadata": {"name": "none"}}, "kubelet", "pods", "status")
    apply(p, pod("a"), "third", "pods")


@scenario("apply")
def our_kinds_are_applied(p: ScenarioClient) -> None:
    job = bodies.training_job("PyTorchJob", "j")
    apply(p, job, resource="pytorchjobs")
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 3
    apply(p, job, "two", "pytorchjobs")
    apply(p, job, "two", "pytorchjobs", force="true")
    status = {key: job[key] for key in ("apiVersion", "kind", "metadata")}
    condition = {"type": "Running", "status": "True", "reason": "R", "message": "m"}
    apply(p, {**status, "status": {"conditions": [condition]}}, "operator", "pytorchjobs", "status")
    p.patch("merge", "pytorchjobs", "j", {"status": {"startTime": "2001-01-01T00:00:00Z"}}, "status", fieldManager="writer")
    apply(p, {**job, "spec": {**job["spec"], "colour": "red"}}, "three", "pytorchjobs", fieldValidation="Strict")
    apply(p, {**job, "spec": {"pytorchReplicaSpecs": "text"}}, "three", "pytorchjobs")
