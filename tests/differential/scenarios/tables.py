"""Server-side tables of every served kind."""

from __future__ import annotations

from tests.differential import bodies
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario
from tests.differential.scenarios.listing import TABLE

EMPTY = (
    "pods", "services", "configmaps", "secrets", "events", "endpoints", "persistentvolumeclaims", "serviceaccounts", "jobs",
    "roles", "rolebindings", "leases", "horizontalpodautoscalers", "resourcequotas", "limitranges", "tfjobs", "pytorchjobs",
    "mpijobs", "xgboostjobs", "paddlejobs", "jaxjobs", "events.events.k8s.io", "namespaces", "nodes",
    "persistentvolumes", "clusterroles", "clusterrolebindings", "priorityclasses", "customresourcedefinitions",
)  # fmt: skip

NODE_INFO = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
    "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip


@scenario("tables")
def columns_of_every_kind(p: ScenarioClient) -> None:
    for resource in EMPTY:
        p.send("GET", p.path(resource), None, TABLE, labelSelector="none=none")


@scenario("tables")
def rows_of_pods(p: ScenarioClient) -> None:
    p.create("pods", bodies.pod("plain"))
    p.create("pods", bodies.pod("two", bodies.container("a"), bodies.container("b"), nodeName="n", restartPolicy="Never"))
    p.create(
        "pods",
        bodies.pod(
            "early", bodies.container(), initContainers=[bodies.container("i")], readinessGates=[{"conditionType": "x/y"}]
        ),
    )
    state = {"name": "a", "image": "i", "imageID": "", "ready": True, "restartCount": 2, "state": {"running": {}}}
    other = {**state, "name": "b", "ready": False, "restartCount": 0, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    status = {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}], "containerStatuses": [state, other]}
    p.patch("strategic", "pods", "two", {"status": status}, "status")
    p.send("GET", p.path("pods"), None, TABLE)
    ended = {**state, "ready": False, "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}
    dead = {**other, "state": {"terminated": {"exitCode": 0, "signal": 9}}}
    p.patch("merge", "pods", "two", {"status": {"phase": "Failed", "containerStatuses": [ended, dead]}}, "status")
    p.patch("merge", "pods", "plain", {"status": {"phase": "Failed", "reason": "Evicted", "message": "gone"}}, "status")
    waiting = {
        "name": "i",
        "image": "i",
        "imageID": "",
        "ready": False,
        "restartCount": 1,
        "state": {"waiting": {"reason": "ErrImagePull"}},
    }
    p.patch("merge", "pods", "early", {"status": {"initContainerStatuses": [waiting]}}, "status")
    p.send("GET", p.path("pods"), None, TABLE)
    p.delete("pods", "two")
    p.send("GET", p.path("pods", "two"), None, TABLE, includeObject="Object")


@scenario("tables")
def rows_of_other_kinds(p: ScenarioClient) -> None:
    p.create(
        "services",
        bodies.service("web", type="NodePort", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 90, "protocol": "UDP"}]),
    )
    p.create("services", bodies.service("none", clusterIP="None"))
    p.create("secrets", bodies.secret("s"))
    p.create("jobs", bodies.job("j", completions=3, parallelism=2))
    p.create("leases", bodies.lease("l"))
    p.create("persistentvolumeclaims", bodies.claim("c"))
    p.create("horizontalpodautoscalers", bodies.autoscaler("h"))
    p.create("events", bodies.event("e", p.namespace, count=3, firstTimestamp="2001-01-01T00:00:00Z", source={"component": "me"}))
    p.create("serviceaccounts", bodies.manifest("v1", "ServiceAccount", "sa", {}))
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    p.create("roles", bodies.manifest("rbac.authorization.k8s.io/v1", "Role", "r", {"rules": rules}))
    binding = {
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "sa"}, {"kind": "User", "name": "u"}],
    }
    p.create("rolebindings", bodies.manifest("rbac.authorization.k8s.io/v1", "RoleBinding", "b", binding))
    for resource in (
        "services",
        "secrets",
        "jobs",
        "leases",
        "persistentvolumeclaims",
        "horizontalpodautoscalers",
        "serviceaccounts",
        "roles",
        "rolebindings",
    ):
        p.send("GET", p.path(resource), None, TABLE, includeObject="None")
    p.send("GET", p.path("namespaces", p.namespace), None, TABLE)


@scenario("tables")
def rows_of_cluster_wide_kinds(p: ScenarioClient) -> None:
    labels = {"s": p.namespace}
    info = dict.fromkeys(NODE_INFO, "") | {"kubeletVersion": "v1.32.0", "osImage": "Linux", "containerRuntimeVersion": "x://1"}
    node = bodies.node(
        p.name("n"),
        status={
            "nodeInfo": info,
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )
    node["metadata"]["labels"] = {**labels, "node-role.kubernetes.io/worker": ""}
    p.create("nodes", node)
    volume = bodies.volume(p.name("v"))
    volume["metadata"]["labels"] = labels
    p.create("persistentvolumes", volume)
    priority = bodies.manifest("scheduling.k8s.io/v1", "PriorityClass", p.name("p"), {"value": 7}, {"labels": labels})
    p.create("priorityclasses", priority)
    for resource in ("nodes", "persistentvolumes", "priorityclasses"):
        p.send("GET", p.path(resource), None, TABLE, labelSelector=f"s={p.namespace}")
    p.patch("merge", "nodes", p.name("n"), {"spec": {"unschedulable": True}})
    p.send("GET", p.path("nodes"), None, TABLE, labelSelector=f"s={p.namespace}")
    for resource, name in (("nodes", "n"), ("persistentvolumes", "v"), ("priorityclasses", "p")):
        p.delete(resource, p.name(name))
