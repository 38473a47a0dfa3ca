"""Deletion: options, preconditions, policies, finalizers, grace periods, collections, owners."""

from __future__ import annotations

from typing import Any

from tests.differential import bodies
from tests.differential.bodies import config_map, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario

NO_SUCH_UID = "11111111-2222-3333-4444-555555555555"


def options(**rest: Any) -> dict[str, Any]:
    return {"kind": "DeleteOptions", "apiVersion": "v1", **rest}


@scenario("delete")
def an_object_is_deleted_once(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a"))
    p.delete("configmaps", "a", dryRun="All")
    p.delete("configmaps", "a", options(dryRun=["All"]))
    p.delete("configmaps", "a", options(dryRun=["Some"]))
    p.delete("configmaps", "a")
    p.delete("configmaps", "a")
    p.read("configmaps", "a")


@scenario("delete")
def responses_to_deletions_by_kind(p: ScenarioClient) -> None:
    p.create("pods", pod("p"))
    p.create("services", bodies.service("s"))
    p.create("secrets", bodies.secret("s"))
    p.create("jobs", bodies.job("j"))
    p.create("leases", bodies.lease("l"))
    p.create("serviceaccounts", bodies.manifest("v1", "ServiceAccount", "sa", {}))
    p.create("pytorchjobs", bodies.training_job("PyTorchJob", "t"))
    p.create("horizontalpodautoscalers", bodies.autoscaler("h"))
    p.create("events", bodies.event("e", p.namespace))
    for resource, name in (
        ("pods", "p"), ("services", "s"), ("secrets", "s"), ("leases", "l"), ("serviceaccounts", "sa"), ("pytorchjobs", "t"),
        ("horizontalpodautoscalers", "h"), ("events", "e"),
    ):  # fmt: skip
        p.delete(resource, name)
    p.delete("jobs", "j", options(propagationPolicy="Background"))


@scenario("delete")
def preconditions(p: ScenarioClient) -> None:
    created = p.create("configmaps", config_map("a"))
    uid, version = created.at("metadata.uid"), created.at("metadata.resourceVersion")
    p.delete("configmaps", "a", options(preconditions={"uid": NO_SUCH_UID}))
    p.delete("configmaps", "a", options(preconditions={"resourceVersion": "1"}))
    p.delete("configmaps", "a", options(preconditions={"uid": uid, "resourceVersion": "1"}))
    p.delete("configmaps", "a", options(preconditions={"uid": uid, "resourceVersion": version}), dryRun="All")
    p.delete("configmaps", "a", options(preconditions={"uid": uid, "resourceVersion": version}))
    p.create("pods", pod("p", nodeName="n"))
    p.delete("pods", "p", options(preconditions={"uid": NO_SUCH_UID}))
    p.create("pytorchjobs", bodies.training_job("PyTorchJob", "t"))
    p.delete("pytorchjobs", "t", options(preconditions={"uid": NO_SUCH_UID}))


@scenario("delete")
def invalid_delete_options(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a"))
    for body in (
        "{",
        "null",
        "[]",
        "",
        "text",
        {"kind": "Pod", "apiVersion": "v1"},
        {"kind": "DeleteOptions", "apiVersion": "v9"},
    ):
        p.delete("configmaps", "a", body, dryRun="All")
    p.delete("configmaps", "a", options(gracePeriodSeconds=-1))
    p.delete("configmaps", "a", options(gracePeriodSeconds="soon"))
    p.delete("configmaps", "a", options(propagationPolicy="Sideways"))
    p.delete("configmaps", "a", options(propagationPolicy="Orphan", orphanDependents=True))
    p.delete("configmaps", "a", options(orphanDependents=True, dryRun=["All"]))
    p.delete("configmaps", "a", options(colour="red", dryRun=["All"]))
    p.delete("configmaps", "a", propagationPolicy="Sideways")
    p.delete("configmaps", "a", gracePeriodSeconds="soon")
    p.delete("configmaps", "a", dryRun="Some")
    p.delete("configmaps", "a", orphanDependents="maybe")
    p.send("DELETE", p.path("configmaps", "a"), "kind: DeleteOptions\napiVersion: v1\n", {"Content-Type": "application/yaml"})


@scenario("delete")
def finalizers_keep_an_object(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a", finalizers=["example.com/hold", "example.com/more"]))
    p.delete("configmaps", "a")
    p.delete("configmaps", "a")
    p.read("configmaps", "a")
    p.patch("merge", "configmaps", "a", {"data": {"still": "changes"}})
    p.patch("merge", "configmaps", "a", {"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}})
    p.patch("merge", "configmaps", "a", {"metadata": {"deletionTimestamp": None}})
    p.create("configmaps", config_map("a"))
    p.patch("merge", "configmaps", "a", {"metadata": {"finalizers": ["example.com/hold"]}})
    p.patch("merge", "configmaps", "a", {"metadata": {"finalizers": []}})
    p.read("configmaps", "a")


@scenario("delete")
def finalizers_keep_a_custom_resource(p: ScenarioClient) -> None:
    job = bodies.training_job("PyTorchJob", "t")
    job["metadata"]["finalizers"] = ["example.com/hold"]
    p.create("pytorchjobs", job)
    p.delete("pytorchjobs", "t")
    p.patch("merge", "pytorchjobs", "t", {"metadata": {"labels": {"a": "b"}}})
    p.patch("json", "pytorchjobs", "t", [{"op": "remove", "path": "/metadata/finalizers"}])
    p.read("pytorchjobs", "t")


@scenario("delete")
def pods_without_a_node_end_at_once(p: ScenarioClient) -> None:
    for name, grace in (("a", None), ("b", 60), ("c", 0)):
        p.create("pods", pod(name))
        p.delete("pods", name, gracePeriodSeconds=grace)
        p.read("pods", name)


@scenario("delete")
def pods_on_a_node_end_gracefully(p: ScenarioClient) -> None:
    p.create("pods", pod("a", nodeName="n"))
    p.delete("pods", "a")
    p.delete("pods", "a")
    p.delete("pods", "a", gracePeriodSeconds=60)
    p.delete("pods", "a", gracePeriodSeconds=5)
    p.delete("pods", "a", options(gracePeriodSeconds=1))
    p.read("pods", "a")
    p.delete("pods", "a", gracePeriodSeconds=0)
    p.read("pods", "a")
    p.create("pods", pod("b", nodeName="n", terminationGracePeriodSeconds=0))
    p.delete("pods", "b")
    p.create("pods", pod("c", nodeName="n", terminationGracePeriodSeconds=7))
    p.delete("pods", "c", dryRun="All")
    p.delete("pods", "c", options(gracePeriodSeconds=0), gracePeriodSeconds=9)
    p.create("pods", pod("d", nodeName="n"))
    p.delete("pods", "d", gracePeriodSeconds=-3)
    p.create("pods", pod("e", nodeName="n"))
    p.patch("merge", "pods", "e", {"status": {"phase": "Succeeded"}}, "status")
    p.delete("pods", "e")
    p.read("pods", "e")


@scenario("delete")
def pods_with_finalizers(p: ScenarioClient) -> None:
    p.create("pods", pod("a", nodeName="n", metadata={"finalizers": ["example.com/hold"]}))
    p.delete("pods", "a")
    p.delete("pods", "a", gracePeriodSeconds=0)
    p.read("pods", "a")
    p.patch("merge", "pods", "a", {"metadata": {"finalizers": None}})
    p.read("pods", "a")
    p.create("pods", pod("b", nodeName="n", metadata={"finalizers": ["example.com/hold"]}))
    p.delete("pods", "b")
    p.patch("merge", "pods", "b", {"metadata": {"finalizers": None}})
    p.read("pods", "b")


@scenario("delete")
def collections(p: ScenarioClient) -> None:
    for name in ("a", "b", "c", "d"):
        p.create("configmaps", config_map(name, labels={"n": name, "s": "s"}))
    p.delete("configmaps", labelSelector="n=a", dryRun="All")
    p.delete("configmaps", labelSelector="n=a")
    p.delete("configmaps", fieldSelector="metadata.name=b")
    p.delete("configmaps", labelSelector="n=none")
    p.delete("configmaps", "", options(propagationPolicy="Background"), labelSelector="n=c")
    p.delete("configmaps", labelSelector="=")
    p.delete("configmaps", fieldSelector="data=x")
    p.list("configmaps", labelSelector="s")
    p.create("pods", pod("x", nodeName="n"))
    p.create("pods", pod("y"))
    p.delete("pods")
    p.list("pods")
    p.delete("pods", gracePeriodSeconds=0)
    p.list("pods")
    p.create("pytorchjobs", bodies.training_job("PyTorchJob", "t"))
    p.delete("pytorchjobs")
    p.list("pytorchjobs")
    p.create("services", bodies.service("s"))
    p.delete("services")
    p.send("DELETE", "/api/v1/configmaps")
    p.send("DELETE", "/api/v1/namespaces", labelSelector="none=none")
    p.delete("nodes", labelSelector="none=none")
    p.delete("bindings")


def owned(p: ScenarioClient, name: str, owner: Any, **rest: Any) -> None:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner.at("metadata.name"),
        "uid": owner.at("metadata.uid"),
        **rest,
    }
    p.create("configmaps", config_map(name, ownerReferences=[reference]))


@scenario("garbage")
def background_deletion_of_dependents(p: ScenarioClient) -> None:
    owner = p.create("configmaps", config_map("owner"))
    owned(p, "child", owner)
    owned(p, "blocking", owner, blockOwnerDeletion=True, controller=True)
    p.delete("configmaps", "owner", propagationPolicy="Background")
    p.gone("configmaps", "child")
    p.gone("configmaps", "blocking")


@scenario("garbage")
def foreground_deletion_waits_for_blocking_dependents(p: ScenarioClient) -> None:
    owner = p.create("configmaps", config_map("owner"))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner.at("metadata.uid"),
        "blockOwnerDeletion": True,
    }
    p.create("configmaps", config_map("child", ownerReferences=[reference], finalizers=["example.com/hold"]))
    p.delete("configmaps", "owner", propagationPolicy="Foreground")
    p.until(lambda response: response.at("metadata.deletionTimestamp") != "missing", p.path("configmaps", "child"))
    p.read("configmaps", "owner")
    p.patch("merge", "configmaps", "child", {"metadata": {"finalizers": None}})
    p.gone("configmaps", "owner")


@scenario("garbage")
def orphans_are_released(p: ScenarioClient) -> None:
    owner = p.create("configmaps", config_map("owner"))
    owned(p, "child", owner)
    p.delete("configmaps", "owner", propagationPolicy="Orphan")
    p.gone("configmaps", "owner")
    p.until(lambda response: response.at("metadata.ownerReferences") == "missing", p.path("configmaps", "child"))


@scenario("garbage")
def an_owner_that_does_not_exist(p: ScenarioClient) -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": NO_SUCH_UID}
    p.create("configmaps", config_map("child", ownerReferences=[reference]))
    p.gone("configmaps", "child")


@scenario("garbage")
def one_of_two_owners_is_deleted(p: ScenarioClient) -> None:
    owners = [p.create("configmaps", config_map(name)) for name in ("one", "two")]
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": each.at("metadata.name"), "uid": each.at("metadata.uid")}
        for each in owners
    ]
    p.create("configmaps", config_map("child", ownerReferences=references))
    p.delete("configmaps", "one")
    p.until(lambda response: len(response.at("metadata.ownerReferences", [])) == 1, p.path("configmaps", "child"))
    p.delete("configmaps", "two")
    p.gone("configmaps", "child")


@scenario("garbage")
def pods_of_a_training_job_are_deleted_with_it(p: ScenarioClient) -> None:
    job = p.create("pytorchjobs", bodies.training_job("PyTorchJob", "t"))
    reference = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "name": "t",
        "uid": job.at("metadata.uid"),
        "controller": True,
    }
    p.create("pods", pod("t-worker-0", metadata={"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}))
    p.delete("pytorchjobs", "t", options(propagationPolicy="Foreground"))
    p.gone("pods", "t-worker-0")
    p.gone("pytorchjobs", "t")


@scenario("garbage", namespaced=False)
def a_deleted_namespace_deletes_its_objects(p: ScenarioClient) -> None:
    p.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": p.namespace}})
    p.wait_for(p.path("serviceaccounts", "default"))
    p.create("configmaps", config_map("a"))
    p.create("pods", pod("p", serviceAccountName="default", automountServiceAccountToken=False))
    p.create("pytorchjobs", bodies.training_job("PyTorchJob", "t"))
    p.delete("namespaces", p.namespace)
    p.gone("namespaces", p.namespace)
    p.list("configmaps")
    p.list("pods")
    p.list("pytorchjobs")
