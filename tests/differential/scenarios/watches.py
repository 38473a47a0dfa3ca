"""Watches: events, selectors, start revisions. A sentinel object marks the end, so that no event is missed."""

from __future__ import annotations

from typing import Any

from tests.differential.bodies import config_map, pod, training_job
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario
from tests.differential.scenarios.listing import FUTURE, PARTIAL, PARTIAL_LIST, TABLE

END = "zz-end"


def start(p: ScenarioClient) -> str:
    """A revision to watch from."""
    return str(p.create("configmaps", config_map("start", labels={"s": "s"})).at("metadata.resourceVersion"))


def write_lifecycle(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a", labels={"s": "s"}))
    p.patch("merge", "configmaps", "a", {"data": {"a": "2"}})
    p.patch("merge", "configmaps", "a", {"data": {"a": "2"}})
    p.delete("configmaps", "a")
    p.create("configmaps", config_map(END, labels={"s": "s"}))


@scenario("watch")
def events_of_a_lifecycle(p: ScenarioClient) -> None:
    version = start(p)
    with p.watch("configmaps", resourceVersion=version) as watch:
        write_lifecycle(p)
        watch.until(END)


@scenario("watch")
def events_of_a_past_lifecycle(p: ScenarioClient) -> None:
    version = start(p)
    write_lifecycle(p)
    with p.watch("configmaps", resourceVersion=version) as watch:
        watch.until(END)
    with p.watch("configmaps", resourceVersion=version, labelSelector="s") as watch:
        watch.until(END)


@scenario("watch")
def a_watch_without_a_version_begins_with_existing_objects(p: ScenarioClient) -> None:
    start(p)
    p.create("configmaps", config_map("old", labels={"s": "s"}))
    for number, version in enumerate((None, "", "0")):
        with p.watch("configmaps", resourceVersion=version, labelSelector="s") as watch:
            watch.read(2 + number)
            p.create("configmaps", config_map(f"z{number}", labels={"s": "s"}))
            watch.until(f"z{number}")


@scenario("watch")
def selectors_turn_changes_into_additions_and_deletions(p: ScenarioClient) -> None:
    version = start(p)
    with p.watch("configmaps", resourceVersion=version, labelSelector="in=yes") as watch:
        p.create("configmaps", config_map("a"))
        p.patch("merge", "configmaps", "a", {"metadata": {"labels": {"in": "yes"}}})
        p.patch("merge", "configmaps", "a", {"data": {"b": "1"}})
        p.patch("merge", "configmaps", "a", {"metadata": {"labels": {"in": "no"}}})
        p.patch("merge", "configmaps", "a", {"data": {"b": "2"}})
        p.patch("merge", "configmaps", "a", {"metadata": {"labels": {"in": "yes"}}})
        p.delete("configmaps", "a")
        p.create("configmaps", config_map(END, labels={"in": "yes"}))
        watch.until(END)


@scenario("watch")
def field_selectors_of_watches(p: ScenarioClient) -> None:
    version = str(p.create("pods", pod("start")).at("metadata.resourceVersion"))
    with p.watch("pods", resourceVersion=version, fieldSelector="status.phase=Running") as watch:
        p.create("pods", pod("a", nodeName="n"))
        p.patch("merge", "pods", "a", {"status": {"phase": "Running"}}, "status")
        p.patch("merge", "pods", "a", {"status": {"phase": "Succeeded"}}, "status")
        p.create("pods", pod(END, nodeName="n"))
        p.patch("merge", "pods", END, {"status": {"phase": "Running"}}, "status")
        watch.until(END)
    with p.watch("pods", resourceVersion=version, fieldSelector="spec.nodeName=n,metadata.name=a") as watch:
        p.delete("pods", "a")
        p.delete("pods", "a", gracePeriodSeconds=0)
        watch.until("a", "DELETED")


@scenario("watch")
def one_object_by_its_name(p: ScenarioClient) -> None:
    version = start(p)
    with p.watch("configmaps", fieldSelector="metadata.name=a", resourceVersion=version) as watch:
        write_lifecycle(p)
        watch.until("a", "DELETED")
    with p.watch("configmaps", "start") as watch:
        watch.read(1)
        p.patch("merge", "configmaps", "start", {"data": {"x": "y"}})
        watch.read(1)
    p.send("GET", f"/api/v1/watch/namespaces/{p.namespace}/configmaps/{END}", timeoutSeconds=1)


@scenario("watch")
def events_of_graceful_and_finalized_deletions(p: ScenarioClient) -> None:
    version = str(p.create("pods", pod("start")).at("metadata.resourceVersion"))
    with p.watch("pods", resourceVersion=version) as watch:
        p.create("pods", pod("a", nodeName="n", metadata={"finalizers": ["example.com/x"]}))
        p.delete("pods", "a")
        p.delete("pods", "a", gracePeriodSeconds=0)
        p.patch("merge", "pods", "a", {"metadata": {"finalizers": None}})
        p.create("pods", pod("b"))
        p.delete("pods", "b")
        p.create("pods", pod(END))
        watch.until(END)


@scenario("watch")
def initial_events_and_their_bookmark(p: ScenarioClient) -> None:
    start(p)
    p.create("configmaps", config_map("a", labels={"s": "s"}))
    parameters: dict[str, Any] = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "labelSelector": "s"}
    for number, version in enumerate((None, "", "0")):
        with p.watch("configmaps", resourceVersion=version, allowWatchBookmarks="true", **parameters) as watch:
            watch.read(3 + number)
            p.create("configmaps", config_map(f"z{number}", labels={"s": "s"}))
            watch.until(f"z{number}")
    with p.watch("configmaps", allowWatchBookmarks="true", **{**parameters, "sendInitialEvents": "false"}) as watch:
        p.create("configmaps", config_map(END, labels={"s": "s"}))
        watch.until(END)
    with p.watch("configmaps", headers=PARTIAL, allowWatchBookmarks="true", **parameters) as watch:
        watch.read(7)


@scenario("watch")
def invalid_watch_parameters(p: ScenarioClient) -> None:
    start(p)
    queries: tuple[dict[str, Any], ...] = (
        {"sendInitialEvents": "true"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "nonsense"},
        {"resourceVersion": "-1"},
        {"labelSelector": "="},
        {"fieldSelector": "data=x"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "false"},
        {"sendInitialEvents": "perhaps"},
        {"allowWatchBookmarks": "perhaps"},
        {"timeoutSeconds": "soon"},
        {"continue": "x"},
    )
    for query in queries:
        with p.watch("configmaps", **{"timeoutSeconds": 1, **query}) as watch:
            watch.rest()
    p.send("GET", p.path("configmaps") + "?watch=perhaps")
    p.send("GET", p.path("configmaps") + "?watch=false", labelSelector="s")
    p.send("GET", p.path("configmaps") + "?watch=1&timeoutSeconds=1&labelSelector=none")
    p.send("GET", p.path("configmaps") + "?watch&timeoutSeconds=1&labelSelector=none")


@scenario("watch")
def a_watch_ends_at_its_timeout(p: ScenarioClient) -> None:
    start(p)
    with p.watch("configmaps", timeoutSeconds=1, labelSelector="s") as watch:
        watch.rest()
    with p.watch("configmaps", timeoutSeconds=1, labelSelector="none") as watch:
        watch.rest()
    with p.watch("configmaps", timeoutSeconds=1, resourceVersion=FUTURE) as watch:
        watch.rest()


@scenario("watch")
def bookmarks_come_before_the_timeout(p: ScenarioClient) -> None:
    version = start(p)
    with p.watch("configmaps", resourceVersion=version, allowWatchBookmarks="true", timeoutSeconds=5) as watch:
        watch.bookmark()


@scenario("watch")
def tables_are_watched(p: ScenarioClient) -> None:
    version = start(p)
    with p.watch("configmaps", headers=TABLE, resourceVersion=version) as watch:
        write_lifecycle(p)
        watch.until(END)
    with p.watch("configmaps", headers=TABLE, resourceVersion=version, includeObject="Object") as watch:
        watch.until(END)
    with p.watch("configmaps", headers=TABLE, resourceVersion=version, includeObject="None") as watch:
        watch.read(3)
    with p.watch("configmaps", headers=PARTIAL, resourceVersion=version) as watch:
        watch.until(END)
    with p.watch("configmaps", headers=PARTIAL_LIST, resourceVersion=version, timeoutSeconds=1) as watch:
        watch.rest()
    with p.watch("configmaps", headers={"Accept": "application/yaml"}, resourceVersion=version, timeoutSeconds=1) as watch:
        watch.rest()


@scenario("watch")
def all_namespaces_are_watched(p: ScenarioClient) -> None:
    version = start(p)
    label = {"life": p.namespace}
    with p.watch("configmaps", everywhere=True, resourceVersion=version, labelSelector=f"life={p.namespace}") as watch:
        p.create("configmaps", config_map("a", labels=label))
        p.delete("configmaps", "a")
        p.create("configmaps", config_map(END, labels=label))
        watch.until(END)


@scenario("watch")
def our_kinds_are_watched(p: ScenarioClient) -> None:
    version = start(p)
    with p.watch("pytorchjobs", resourceVersion=version) as watch:
        p.create("pytorchjobs", training_job("PyTorchJob", "a"))
        condition = {"type": "Running", "status": "True", "reason": "R", "message": "m"}
        p.patch("merge", "pytorchjobs", "a", {"status": {"conditions": [condition]}}, "status")
        p.patch("merge", "pytorchjobs", "a", {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}}, "")
        p.delete("pytorchjobs", "a")
        p.create("pytorchjobs", training_job("PyTorchJob", END))
        watch.until(END)
    with p.watch("pytorchjobs", headers=TABLE, resourceVersion=version) as watch:
        watch.until(END)


@scenario("watch")
def namespaces_are_watched(p: ScenarioClient) -> None:
    with p.watch("namespaces", fieldSelector=f"metadata.name={p.namespace}") as watch:
        watch.read(1)
        p.patch("merge", "namespaces", p.namespace, {"metadata": {"annotations": {"a": "b"}}})
        watch.read(1)
