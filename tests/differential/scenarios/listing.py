"""Lists: selectors, pages, revisions, tables."""

from __future__ import annotations

from tests.differential.bodies import config_map, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
PARTIAL_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
FUTURE = "9999999999"

SELECTORS = {
    "events": ("involvedObject.name=p", "involvedObject.kind=Pod,type=Normal", "reason=x,source=y", "involvedObject.colour=red"),
    "secrets": ("type=Opaque", "data=x"),
    "namespaces": ("status.phase=Nothing",),
    "nodes": ("spec.unschedulable=true", "status.phase=x"),
    "jobs": ("status.successful=1", "status.failed=1"),
    "services": ("spec.type=NodePort", "spec.clusterIP=None"),
    "leases": ("spec.holderIdentity=x",),
    "pytorchjobs": ("metadata.name=none", "spec.x=y"),
} | dict.fromkeys(
    ("persistentvolumes", "persistentvolumeclaims", "roles", "endpoints", "serviceaccounts"), ("metadata.name=none",)
)


def some_config_maps(p: ScenarioClient) -> list[str]:
    labels: tuple[dict[str, str], ...] = (
        {"app": "a", "tier": "front"},
        {"app": "b", "tier": "back"},
        {"app": "a"},
        {"other": "x", "n": "5"},
        {},
    )
    created = [p.create("configmaps", config_map(f"c{index}", labels={**each, "s": "s"})) for index, each in enumerate(labels)]
    return [each.at("metadata.resourceVersion") for each in created]


@scenario("list")
def label_selectors_of_every_operator(p: ScenarioClient) -> None:
    some_config_maps(p)
    for selector in (
        "app=a", "app==a", "app!=a", "app", "!app", "app in (a,b)", "app notin (a)", "app in (a),tier", "s,app=a,tier!=back",
        "app=", "app in ()", "app in (a, b ) , tier = front", "n>4", "n<6", "n>5", "app=a,app=b", "s=s,!other,app notin (b)",
        "", " ", "s", "example.com/x=1,s",
    ):  # fmt: skip
        p.list("configmaps", labelSelector=selector)


@scenario("list")
def malformed_label_selectors(p: ScenarioClient) -> None:
    for selector in (
        "=", "a=b=c", "a in b", "a in (b", "a,", ",a", "a b", "!", "a=b,,c", "a notin", "n>x", "a==", "a===b", "a>b>c", "(a)",
        "!a=b", "a in (b c)", "x" * 64, "a=" + "x" * 64, "a/b/c=d", "-a", "a=b c", "UPPER.example/x", "a in (,)", "!!a", "a=(b)",
    ):  # fmt: skip
        p.list("configmaps", labelSelector=selector)


@scenario("list")
def field_selectors(p: ScenarioClient) -> None:
    some_config_maps(p)
    for selector in (
        "metadata.name=c1", "metadata.name==c1", "metadata.name!=c1,metadata.name!=kube-root-ca.crt",
        f"metadata.namespace={p.namespace},metadata.name=c2", "metadata.name=",
        "metadata.name=none", "metadata.namespace=elsewhere", "data.a=1", "metadata.labels=x", "metadata.name", "=", ",", "a b",
        "metadata.name in (a)", "metadata.name=a=b", "metadata.name=c1,metadata.name=c2", r"metadata.name=c1\,", "metadata.uid=x",
    ):  # fmt: skip
        p.list("configmaps", fieldSelector=selector)
    p.list("configmaps", fieldSelector="metadata.name=c1", labelSelector="app=a")
    p.read("configmaps", "c1", fieldSelector="metadata.name=c2")


@scenario("list")
def field_selectors_of_pods(p: ScenarioClient) -> None:
    p.create("pods", pod("here", nodeName="some-node", restartPolicy="Never"))
    p.create("pods", pod("waits", schedulerName="other", serviceAccountName="default"))
    for selector in (
        "spec.nodeName=some-node", "spec.nodeName=", "spec.nodeName!=", "status.phase=Pending", "status.phase!=Pending",
        "spec.restartPolicy=Never", "spec.schedulerName=other", "spec.serviceAccountName=default", "spec.hostNetwork=false",
        "status.podIP=", "status.nominatedNodeName=", "metadata.name=here", "spec.containers=x", "status.podIPs=1.2.3.4",
    ):  # fmt: skip
        p.list("pods", fieldSelector=selector)


@scenario("list")
def field_selectors_of_other_kinds(p: ScenarioClient) -> None:
    for resource, selectors in SELECTORS.items():
        for selector in selectors:
            p.list(resource, fieldSelector=selector)
    p.list("namespaces", fieldSelector=f"metadata.name={p.namespace}")


@scenario("list")
def pages(p: ScenarioClient) -> None:
    some_config_maps(p)
    first = p.list("configmaps", labelSelector="s", limit=2)
    second = p.next_page(first, "configmaps", limit=2, labelSelector="s")
    p.next_page(second, "configmaps", limit=2, labelSelector="s")
    p.next_page(first, "configmaps", labelSelector="s")
    p.list("configmaps", limit=2)
    p.list("configmaps", labelSelector="s", limit=5)
    p.list("configmaps", labelSelector="s", limit=0)
    p.list("configmaps", labelSelector="app=a", limit=1)
    p.list("configmaps", labelSelector="s", limit=-1)
    p.list("configmaps", labelSelector="s", limit="many")


@scenario("list")
def a_page_is_of_the_revision_of_the_first(p: ScenarioClient) -> None:
    some_config_maps(p)
    first = p.list("configmaps", labelSelector="s", limit=2)
    p.delete("configmaps", "c3")
    p.create("configmaps", config_map("c9", labels={"s": "s"}))
    p.next_page(first, "configmaps", labelSelector="s")
    p.list("configmaps", labelSelector="s")


@scenario("list")
def invalid_continue_tokens(p: ScenarioClient) -> None:
    some_config_maps(p)
    page = p.list("configmaps", limit=1).at("metadata.continue")
    for token in ("nonsense", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "%%%", page[:-4]):
        p.continued(token, "configmaps", limit=1)
    p.continued(page, "configmaps", limit=1, resourceVersion="1")
    p.continued(page, "configmaps", limit=1, resourceVersion="0")
    p.continued(page, "configmaps", resourceVersionMatch="Exact")


@scenario("list")
def revisions_and_how_they_match(p: ScenarioClient) -> None:
    versions = some_config_maps(p)
    for version in ("", "0", versions[2], FUTURE, "nonsense", "-1"):
        for match in ("", "Exact", "NotOlderThan", "Whatever"):
            p.list("configmaps", labelSelector="s", resourceVersion=version or None, resourceVersionMatch=match or None)
    p.list("configmaps", labelSelector="s", resourceVersion=versions[1], resourceVersionMatch="Exact", limit=1)
    p.list("configmaps", labelSelector="s", resourceVersion=versions[4], resourceVersionMatch="NotOlderThan", limit=1)
    p.list("configmaps", labelSelector="s", resourceVersion="0", limit=1)
    for version in ("0", versions[0], FUTURE, "nonsense"):
        p.read("configmaps", "c0", resourceVersion=version)
    p.read("configmaps", "c0", resourceVersion="0", resourceVersionMatch="Exact")


@scenario("list")
def an_exact_revision_shows_the_past(p: ScenarioClient) -> None:
    first = p.create("configmaps", config_map("a", labels={"s": "s"})).at("metadata.resourceVersion")
    second = p.create("configmaps", config_map("b", labels={"s": "s"})).at("metadata.resourceVersion")
    third = p.patch("merge", "configmaps", "a", {"data": {"a": "2"}}).at("metadata.resourceVersion")
    p.delete("configmaps", "b")
    for version in (first, second, third):
        p.list("configmaps", labelSelector="s", resourceVersion=version, resourceVersionMatch="Exact")


@scenario("list")
def all_namespaces(p: ScenarioClient) -> None:
    other = p.name("other")
    p.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    for namespace in (p.namespace, other):
        p.send("POST", f"/api/v1/namespaces/{namespace}/configmaps", config_map("same", labels={"all": p.namespace}))
    p.list("configmaps", everywhere=True, labelSelector=f"all={p.namespace}")
    p.list("configmaps", everywhere=True, labelSelector=f"all={p.namespace}", fieldSelector=f"metadata.namespace={other}")
    first = p.list("configmaps", everywhere=True, labelSelector=f"all={p.namespace}", limit=1)
    p.next_page(first, "configmaps", everywhere=True, labelSelector=f"all={p.namespace}")
    p.delete("namespaces", other)


@scenario("tables")
def tables_of_lists_and_objects(p: ScenarioClient) -> None:
    some_config_maps(p)
    for include in ("", "None", "Metadata", "Object", "Everything"):
        p.send("GET", p.path("configmaps"), None, TABLE, labelSelector="app=a", includeObject=include or None)
    p.send("GET", p.path("configmaps", "c0"), None, TABLE)
    p.send("GET", p.path("configmaps", "none"), None, TABLE)
    p.send("GET", p.path("configmaps"), None, TABLE, labelSelector="s", limit=2)
    p.send("GET", p.path("configmaps"), None, TABLE, labelSelector="none=none")
    p.send("POST", p.path("configmaps"), config_map("t"), TABLE)
    p.send("DELETE", p.path("configmaps", "t"), None, TABLE)


@scenario("tables")
def metadata_alone(p: ScenarioClient) -> None:
    some_config_maps(p)
    p.send("GET", p.path("configmaps", "c0"), None, PARTIAL)
    p.send("GET", p.path("configmaps"), None, PARTIAL_LIST, labelSelector="app=a")
    p.send("GET", p.path("configmaps"), None, PARTIAL, labelSelector="app=a")
    p.send("GET", p.path("configmaps", "c0"), None, PARTIAL_LIST)
    p.send("GET", p.path("pytorchjobs"), None, PARTIAL_LIST)
    p.send("POST", p.path("configmaps"), config_map("m"), PARTIAL)
