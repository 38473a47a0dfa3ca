"""PUT: conflicts, creation by update, immutable fields, separate writes of status and spec."""

from __future__ import annotations

from tests.differential import bodies
from tests.differential.bodies import config_map, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario

NO_SUCH_UID = "11111111-2222-3333-4444-555555555555"


@scenario("update")
def an_update_with_the_right_and_the_wrong_version(p: ScenarioClient) -> None:
    first = p.create("configmaps", config_map("a")).object
    second = p.replace("configmaps", "a", {**first, "data": {"b": "2"}})
    p.replace("configmaps", "a", {**first, "data": {"c": "3"}})
    p.replace("configmaps", "a", second.object)
    p.replace("configmaps", "a", config_map("a", {"d": "4"}))
    p.replace("configmaps", "a", config_map("a", {"e": "5"}, resourceVersion="0"))
    p.replace("configmaps", "a", config_map("a", {"e": "5"}, resourceVersion="nonsense"))
    p.replace("configmaps", "a", config_map("a", {"e": "5"}, uid=NO_SUCH_UID))
    p.replace("configmaps", "a", config_map("a", {"e": "5"}, uid=first["metadata"].get("uid")))
    p.replace("configmaps", "a", config_map("a", {"f": "6"}), dryRun="All")
    p.read("configmaps", "a")


@scenario("update")
def an_update_that_does_not_fit_its_path(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a"))
    p.replace("configmaps", "a", config_map("b"))
    p.replace("configmaps", "a", config_map("a", namespace="elsewhere"))
    p.replace("configmaps", "a", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "y"}})
    p.replace("configmaps", "a", {**config_map("a"), "kind": "Secret"})
    p.replace("configmaps", "none", config_map("none"))
    p.replace("configmaps", "none", config_map("none", resourceVersion="5"))
    p.replace("configmaps", "a", "{")
    p.replace("configmaps", "a", "")
    p.send("PUT", p.path("configmaps"), config_map("a"))


@scenario("update")
def creation_by_update(p: ScenarioClient) -> None:
    p.replace("leases", "l", bodies.lease("l"))
    p.replace("leases", "m", bodies.lease("m"), dryRun="All")
    p.replace("leases", "n", bodies.manifest("coordination.k8s.io/v1", "Lease", "n", {}, {"resourceVersion": "4"}))
    p.replace("leases", "o", bodies.manifest("coordination.k8s.io/v1", "Lease", "o", {}, {"uid": NO_SUCH_UID}))
    p.replace("leases", "l", bodies.lease("l", holderIdentity="other"))
    p.replace("events", "e", bodies.event("e", p.namespace))
    p.replace("services", "s", bodies.service("s"))
    p.replace("pods", "p", pod("p"))
    p.replace("secrets", "s", bodies.secret("s"))
    p.replace("serviceaccounts", "s", bodies.manifest("v1", "ServiceAccount", "s", {}))
    p.replace("roles", "r", bodies.manifest("rbac.authorization.k8s.io/v1", "Role", "r", {"rules": []}))
    p.replace("jobs", "j", bodies.job("j"))
    p.replace("persistentvolumeclaims", "c", bodies.claim("c"))
    p.replace("horizontalpodautoscalers", "h", bodies.autoscaler("h"))
    p.replace("pytorchjobs", "t", bodies.training_job("PyTorchJob", "t"))
    p.replace("nodes", p.name("n"), bodies.node(p.name("n")))
    p.replace("endpoints", "e", bodies.manifest("v1", "Endpoints", "e", {}))
    p.replace("limitranges", "l", bodies.manifest("v1", "LimitRange", "l", {"spec": {"limits": []}}))
    p.replace("resourcequotas", "q", bodies.manifest("v1", "ResourceQuota", "q", {"spec": {}}))


@scenario("update")
def updates_of_pods(p: ScenarioClient) -> None:
    created = p.create("pods", pod("a", bodies.container(), bodies.container("side"))).object
    changed = {**created, "spec": {**created["spec"], "restartPolicy": "Never"}}
    p.replace("pods", "a", changed)
    p.patch("merge", "pods", "a", {"spec": {"nodeName": "elsewhere"}})
    p.patch("strategic", "pods", "a", {"spec": {"containers": [{"name": "main", "image": "train:2"}]}})
    p.patch("strategic", "pods", "a", {"spec": {"containers": [{"name": "main", "command": ["x"]}]}})
    p.patch("strategic", "pods", "a", {"spec": {"containers": [{"name": "third", "image": "i"}]}})
    p.patch("strategic", "pods", "a", {"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1"}}}]}})
    p.patch("merge", "pods", "a", {"spec": {"activeDeadlineSeconds": 50}})
    p.patch("merge", "pods", "a", {"spec": {"activeDeadlineSeconds": 70}})
    p.patch("merge", "pods", "a", {"spec": {"terminationGracePeriodSeconds": 1}})
    p.patch("merge", "pods", "a", {"spec": {"priority": 4}})
    p.patch("merge", "pods", "a", {"spec": {"serviceAccountName": "x"}})
    p.patch("merge", "pods", "a", {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}})
    p.patch("json", "pods", "a", [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "k", "operator": "Exists"}}])
    p.patch("merge", "pods", "a", {"metadata": {"labels": {"x": "y"}}})
    p.patch("merge", "pods", "a", {"status": {"phase": "Running"}})
    p.read("pods", "a")


@scenario("update")
def immutable_fields(p: ScenarioClient) -> None:
    p.create("configmaps", {**config_map("fixed"), "immutable": True})
    p.patch("merge", "configmaps", "fixed", {"data": {"a": "2"}})
    p.patch("merge", "configmaps", "fixed", {"immutable": False})
    p.patch("merge", "configmaps", "fixed", {"metadata": {"labels": {"x": "y"}}})
    p.create("secrets", bodies.secret("fixed", type="Opaque", immutable=True))
    p.patch("merge", "secrets", "fixed", {"stringData": {"a": "b"}})
    p.create("secrets", bodies.secret("typed", type="Opaque"))
    p.patch("merge", "secrets", "typed", {"type": "example.com/other"})
    p.create("services", bodies.service("s"))
    p.patch("merge", "services", "s", {"spec": {"clusterIP": "10.96.7.7"}})
    p.patch("merge", "services", "s", {"spec": {"clusterIP": "None"}})
    p.create("jobs", bodies.job("j"))
    p.patch("merge", "jobs", "j", {"spec": {"completions": 4}})
    p.patch("merge", "jobs", "j", {"spec": {"parallelism": 4}})
    p.patch("merge", "jobs", "j", {"spec": {"selector": {"matchLabels": {"a": "b"}}}})
    p.patch("merge", "jobs", "j", {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}})
    p.patch("merge", "jobs", "j", {"spec": {"suspend": True}})
    p.create("persistentvolumeclaims", bodies.claim("c"))
    p.patch("merge", "persistentvolumeclaims", "c", {"spec": {"accessModes": ["ReadWriteMany"]}})
    p.patch("merge", "persistentvolumeclaims", "c", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})


@scenario("update")
def metadata_that_may_not_change(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a"))
    for change in (
        {"name": "b"},
        {"namespace": "elsewhere"},
        {"uid": NO_SUCH_UID},
        {"creationTimestamp": "2001-02-03T04:05:06Z"},
        {"creationTimestamp": None},
        {"generation": 7},
        {"deletionTimestamp": "2001-02-03T04:05:06Z"},
        {"deletionGracePeriodSeconds": 5},
        {"selfLink": "/x"},
        {"generateName": "g-"},
        {"resourceVersion": "1"},
        {"resourceVersion": None},
        {"uid": None},
    ):
        p.patch("merge", "configmaps", "a", {"metadata": change})
    p.read("configmaps", "a")


@scenario("status")
def status_and_spec_are_apart(p: ScenarioClient) -> None:
    created = p.create("pods", pod("a")).object
    both = {**created, "spec": {**created["spec"], "nodeName": "x"}, "status": {"phase": "Running", "message": "m"}}
    both["metadata"]["labels"] = {"from": "status"}
    p.replace("pods", "a", both, "status")
    p.read("pods", "a", "status")
    p.patch(
        "merge",
        "pods",
        "a",
        {"status": {"phase": "Failed"}, "metadata": {"labels": {"l": "m"}, "annotations": {"a": "b"}}},
        "status",
    )
    p.patch("merge", "pods", "a", {"status": {"phase": "Dancing"}}, "status")
    p.patch("strategic", "pods", "a", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "status")
    p.patch("strategic", "pods", "a", {"status": {"conditions": [{"type": "Other", "status": "False", "reason": "R"}]}}, "status")
    p.patch("merge", "pods", "none", {"status": {}}, "status")
    p.delete("pods", "a/status")
    p.send("POST", p.path("pods", "a", "status"), both)
    p.send("GET", p.path("pods", "a", "nonsense"))


@scenario("status")
def status_of_other_kinds(p: ScenarioClient) -> None:
    p.create("jobs", bodies.job("j"))
    p.patch(
        "merge", "jobs", "j", {"status": {"active": 2, "startTime": "2001-01-01T00:00:00Z"}, "spec": {"suspend": True}}, "status"
    )
    p.create("services", bodies.service("s"))
    p.patch("merge", "services", "s", {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}, "status")
    p.create("persistentvolumeclaims", bodies.claim("c"))
    p.patch("merge", "persistentvolumeclaims", "c", {"status": {"phase": "Bound"}, "spec": {"volumeName": "v"}}, "status")
    p.create("horizontalpodautoscalers", bodies.autoscaler("h"))
    status = {"currentReplicas": 2, "desiredReplicas": 3, "conditions": [{"type": "AbleToScale", "status": "True"}]}
    p.patch("merge", "horizontalpodautoscalers", "h", {"status": status}, "status")
    p.create("nodes", bodies.node(p.name("n")))
    p.patch("strategic", "nodes", p.name("n"), {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "status")
    p.patch("strategic", "nodes", p.name("n"), {"status": {"capacity": {"cpu": "4", "memory": "1Gi"}}}, "status")
    p.patch("merge", "nodes", p.name("n"), {"status": {"capacity": {"cpu": "many"}}}, "status")
    p.delete("nodes", p.name("n"))
    p.patch("merge", "configmaps", "c", {"status": {}}, "status")
    p.send("GET", p.path("secrets", "s", "status"))
    p.patch("merge", "namespaces", p.namespace, {"status": {"conditions": [{"type": "X", "status": "True"}]}}, "status")
