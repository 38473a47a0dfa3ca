"""Other kinds of the core group: services, secrets, service accounts, namespaces, nodes, events, storage, quotas."""

from __future__ import annotations

from typing import Any

from tests.differential import bodies
from tests.differential.bodies import manifest, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario


@scenario("services")
def services_of_every_type(p: ScenarioClient) -> None:
    p.create("services", bodies.service("plain"))
    p.create("services", bodies.service("headless", clusterIP="None"))
    p.create("services", bodies.service("unready", clusterIP="None", publishNotReadyAddresses=True, selector=None))
    p.create("services", bodies.service("node", type="NodePort"))
    p.create("services", bodies.service("balanced", type="LoadBalancer"))
    p.create("services", manifest("v1", "Service", "outside", {"spec": {"type": "ExternalName", "externalName": "example.com"}}))
    p.create(
        "services",
        bodies.service("named", ports=[{"name": "a", "port": 1, "targetPort": "x"}, {"name": "b", "port": 2, "protocol": "UDP"}]),
    )
    p.create("services", bodies.service("sticky", sessionAffinity="ClientIP"))
    p.create("services", bodies.service("dry"), dryRun="All")
    p.patch("merge", "services", "plain", {"spec": {"type": "NodePort"}})
    p.patch("merge", "services", "plain", {"spec": {"type": "ClusterIP"}})
    p.patch("strategic", "services", "plain", {"spec": {"ports": [{"port": 81, "name": "new"}]}})
    p.read("services", "headless")


@scenario("services")
def invalid_services(p: ScenarioClient) -> None:
    invalid: tuple[dict[str, Any], ...] = (
        {"ports": []}, {"ports": [{"port": 0}]}, {"ports": [{"port": 70000}]}, {"ports": [{"port": 1}, {"port": 2}]},
        {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}, {"ports": [{"port": 1, "protocol": "X"}]},
        {"clusterIP": "1.2.3.4"}, {"clusterIP": "nonsense"}, {"type": "Sideways"}, {"type": "ExternalName"},
        {"sessionAffinity": "x"}, {"ports": [{"port": 1, "targetPort": "UPPER CASE"}]}, {"ports": [{"port": 1, "nodePort": 5}]},
        {"selector": {"a b": "c"}}, {"type": "NodePort", "ports": [{"port": 1, "nodePort": 5}]},
        {"clusterIP": "None", "type": "NodePort"}, {"ipFamilyPolicy": "RequireDualStack"}, {"externalIPs": ["x"]},
        {"ports": [{"port": "http"}]},
    )  # fmt: skip
    for spec in invalid:
        p.create("services", bodies.service("wrong", **spec))


@scenario("secrets")
def secrets(p: ScenarioClient) -> None:
    p.create("secrets", bodies.secret("a", data={"k": "dg=="}, stringData={"k": "wins", "l": "m"}))
    p.create("secrets", bodies.secret("bad", data={"k": "not base64!"}))
    p.create("secrets", bodies.secret("bad", data={"bad key": "dg=="}))
    p.create("secrets", bodies.secret("tls", type="kubernetes.io/tls", stringData={"tls.crt": "x"}))
    p.create("secrets", bodies.secret("auth", type="kubernetes.io/basic-auth", stringData={"x": "y"}))
    p.create("secrets", bodies.secret("ssh", type="kubernetes.io/ssh-auth", stringData={"x": "y"}))
    p.create("secrets", bodies.secret("docker", type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": "x"}))
    p.create("secrets", bodies.secret("token", type="kubernetes.io/service-account-token"))
    p.create("secrets", bodies.secret("own", type="example.com/mine", stringData={"a": "b"}))
    p.create("secrets", bodies.secret("large", stringData={"a": "x" * (1 << 20)}))
    p.patch("merge", "secrets", "a", {"stringData": {"n": "o"}, "data": {"k": None}})
    p.patch("strategic", "secrets", "a", {"stringData": {"p": "q"}})
    p.list("secrets")


@scenario("service accounts")
def service_accounts_and_their_tokens(p: ScenarioClient) -> None:
    p.create("serviceaccounts", manifest("v1", "ServiceAccount", "sa", {}))
    p.create("serviceaccounts", manifest("v1", "ServiceAccount", "Bad_Name", {}))
    p.create(
        "serviceaccounts",
        manifest("v1", "ServiceAccount", "pull", {"imagePullSecrets": [{"name": "x"}], "automountServiceAccountToken": False}),
    )

    def request_token(name: str = "sa", **spec: Any) -> Any:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return p.create("serviceaccounts", body, name, "token")

    request_token()
    request_token(expirationSeconds=600)
    request_token(expirationSeconds=5)
    request_token(expirationSeconds=1 << 33)
    request_token(audiences=["someone"])
    request_token("none")
    uid = p.create("pods", pod("holder", serviceAccountName="sa")).at("metadata.uid")
    request_token(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "holder", "uid": uid})
    request_token(
        boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "holder", "uid": "11111111-2222-3333-4444-555555555555"}
    )
    request_token(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "nobody"})
    request_token(boundObjectRef={"kind": "Thing", "apiVersion": "v1", "name": "nobody"})
    p.create("serviceaccounts", {"kind": "TokenRequest"}, "sa", "token")
    p.create("serviceaccounts", "", "sa", "token")
    p.create("pods", pod("pulls", serviceAccountName="pull"))
    p.delete("serviceaccounts", "sa")


@scenario("service accounts")
def tokens_are_reviewed(p: ScenarioClient) -> None:
    p.create("serviceaccounts", manifest("v1", "ServiceAccount", "sa", {}))
    token = p.create("serviceaccounts", {"spec": {}}, "sa", "token").at("status.token")

    def review(**spec: Any) -> None:
        p.create("tokenreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec})

    review(token=token)
    review(token=token, audiences=["someone"])
    review(token="nonsense")  # noqa: S106  none at all
    review()
    p.use_token(token)
    p.create("selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    p.use_administrator()
    p.delete("serviceaccounts", "sa")
    p.use_token(token)
    p.until(lambda response: response.status == 401, p.path("configmaps"))


@scenario("namespaces", namespaced=False)
def namespaces(p: ScenarioClient) -> None:
    body = manifest("v1", "Namespace", p.namespace, {})
    p.create("namespaces", body)
    p.create("namespaces", body)
    p.until(lambda response: response.at("status.phase") == "Active", p.path("namespaces", p.namespace))
    for name in ("UPPER", "a.b", "x" * 64, ""):
        p.create("namespaces", manifest("v1", "Namespace", name, {}))
    p.create("namespaces", manifest("v1", "Namespace", p.name("dry"), {}), dryRun="All")
    p.patch("merge", "namespaces", p.namespace, {"metadata": {"labels": {"a": "b"}}})
    p.patch("merge", "namespaces", p.namespace, {"metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}})
    p.patch("merge", "namespaces", p.namespace, {"spec": {"finalizers": []}})
    p.patch("merge", "namespaces", p.namespace, {"status": {"phase": "Terminating"}})
    p.send(
        "PUT", p.path("namespaces", p.namespace, "finalize"), {**body, "spec": {"finalizers": ["kubernetes", "example.com/x"]}}
    )
    p.send("PUT", p.path("namespaces", p.namespace, "finalize"), {**body, "spec": {"finalizers": ["kubernetes"]}})
    p.delete("namespaces", p.namespace, dryRun="All")
    p.delete("namespaces", p.namespace, {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}})
    p.delete("namespaces", p.namespace)
    p.gone("namespaces", p.namespace)
    for name in ("default", "kube-system", "kube-public"):
        p.delete("namespaces", name)
    p.delete("namespaces", "none-such")


@scenario("nodes", namespaced=False)
def nodes(p: ScenarioClient) -> None:
    name = p.name("n")
    p.create(
        "nodes",
        bodies.node(name, spec={"podCIDR": "10.0.0.0/24"}, status={"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}}),
    )
    p.create("nodes", bodies.node(p.name("bad"), spec={"taints": [{"key": "a b", "effect": "x"}]}))
    p.create("nodes", bodies.node("Upper_Case"))
    p.create("nodes", bodies.node(p.name("cidr"), spec={"podCIDR": "nonsense"}))
    p.patch("strategic", "nodes", name, {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})
    p.patch("merge", "nodes", name, {"spec": {"unschedulable": True}})
    p.patch("merge", "nodes", name, {"spec": {"podCIDR": "10.0.1.0/24"}})
    p.patch("merge", "nodes", name, {"status": {"capacity": {"cpu": "8"}}})
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": "2001-01-01T00:00:00Z"}]
    p.patch("strategic", "nodes", name, {"status": {"conditions": conditions, "allocatable": {"nvidia.com/gpu": "2"}}}, "status")
    p.patch("strategic", "nodes", name, {"status": {"conditions": [{"type": "DiskPressure", "status": "False"}]}}, "status")
    p.patch("strategic", "nodes", name, {"status": {"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}]}}, "status")
    p.read("nodes", name)
    p.delete("nodes", name)


@scenario("events")
def events_of_both_groups(p: ScenarioClient) -> None:
    p.create("events", bodies.event("e", p.namespace))
    p.create("events", bodies.event("away", "elsewhere"))
    p.create("events", bodies.event("typed", p.namespace, type="Strange"))
    p.create("events", bodies.event("nothing", p.namespace, involvedObject={}))
    p.create(
        "events",
        bodies.event(
            "counted",
            p.namespace,
            count=2,
            firstTimestamp="2001-01-01T00:00:00Z",
            lastTimestamp="2001-01-02T00:00:00Z",
            source={"component": "c", "host": "h"},
        ),
    )
    p.patch("strategic", "events", "counted", {"count": 3, "lastTimestamp": "2001-01-03T00:00:00Z"})
    p.patch("merge", "events", "e", {"reason": "Other", "message": "m" * 1100})
    modern = {
        "eventTime": "2001-01-01T00:00:00.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
        "action": "Act",
        "reason": "R",
        "regarding": {"kind": "Pod", "namespace": p.namespace, "name": "p"},
        "note": "n",
        "type": "Normal",
    }
    p.create("events.events.k8s.io", manifest("events.k8s.io/v1", "Event", "modern", modern))
    p.create(
        "events.events.k8s.io",
        manifest("events.k8s.io/v1", "Event", "wrong", {**modern, "action": "", "reportingController": ""}),
    )
    p.create(
        "events.events.k8s.io",
        manifest("events.k8s.io/v1", "Event", "timeless", {"regarding": {"namespace": p.namespace}, "type": "Normal"}),
    )
    p.read("events", "modern")
    p.read("events.events.k8s.io", "e")
    p.list("events", fieldSelector="involvedObject.name=p,reason=Started")
    p.list("events.events.k8s.io", fieldSelector="regarding.name=p")
    p.list("events", fieldSelector="type=Normal")
    p.delete("events", fieldSelector="involvedObject.name=p")


@scenario("leases")
def leases(p: ScenarioClient) -> None:
    body = bodies.lease(
        "l",
        holderIdentity="a",
        leaseDurationSeconds=15,
        acquireTime="2001-01-01T00:00:00.000000Z",
        renewTime="2001-01-01T00:00:01.5Z",
    )
    first = p.create("leases", body).object
    p.create("leases", body)
    first.setdefault("spec", {})["holderIdentity"] = "b"
    p.replace("leases", "l", first)
    p.replace("leases", "l", first)
    p.create("leases", bodies.lease("wrong", leaseDurationSeconds=0, leaseTransitions=-1))
    p.create("leases", bodies.lease("wrong", renewTime="yesterday"))
    p.create("leases", bodies.lease("seconds", renewTime="2001-01-01T00:00:00Z"))
    p.patch("merge", "leases", "l", {"spec": {"renewTime": "2001-01-01T00:00:09.123456Z"}})


@scenario("replicationcontrollers")
def replication_controllers(p: ScenarioClient) -> None:
    pods: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    template: dict[str, Any] = {"metadata": {"labels": {"app": "x"}}, "spec": pods}

    def controller(name: str, **spec: Any) -> dict[str, Any]:
        return manifest("v1", "ReplicationController", name, {"spec": {"replicas": 0, "template": template, **spec}})

    p.create("replicationcontrollers", controller("plain"))
    p.create("replicationcontrollers", controller("chosen", selector={"app": "x"}, minReadySeconds=3))
    p.create("replicationcontrollers", controller("long." + "n" * 60), dryRun="All")
    invalid: tuple[dict[str, Any], ...] = (
        {"replicas": -1}, {"minReadySeconds": -1}, {"selector": {"app": "y"}}, {"template": None}, {"selector": {"a b": "c"}},
        {"template": {"spec": pods}}, {"template": {**template, "spec": {**pods, "restartPolicy": "Never"}}},
        {"template": {**template, "spec": {**pods, "restartPolicy": "Always", "activeDeadlineSeconds": 3}}},
        {"template": {**template, "spec": {"containers": []}}},
    )  # fmt: skip
    for spec in invalid:
        p.create("replicationcontrollers", controller("wrong", **spec))
    p.patch("merge", "replicationcontrollers", "plain", {"spec": {"replicas": 2}}, dryRun="All")
    p.patch("merge", "replicationcontrollers", "plain", {"spec": {"replicas": -2, "selector": {"app": "z"}}})
    p.patch("merge", "replicationcontrollers", "plain", {"spec": {"minReadySeconds": 1}, "status": {"replicas": 9}})
    p.patch("merge", "replicationcontrollers", "plain", {"status": {"replicas": 1, "readyReplicas": 1}}, "status")
    p.patch("merge", "replicationcontrollers", "plain", {"status": {"readyReplicas": 2, "availableReplicas": 3}}, "status")
    p.read("replicationcontrollers", "plain", "scale")
    p.patch("merge", "replicationcontrollers", "plain", {"spec": {"replicas": 3}}, "scale")
    p.read("replicationcontrollers", "plain")
    p.list("replicationcontrollers", fieldSelector="status.replicas=1")
    p.delete("replicationcontrollers", "chosen", {"propagationPolicy": "Background"})
    p.delete("replicationcontrollers", "plain")
