"""Ingresses and network policies."""

from __future__ import annotations

from tests.differential import bodies
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario

V1 = "networking.k8s.io/v1"
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}
POLICY = {"podSelector": {"matchLabels": {"app": "web"}}, "egress": [{"ports": [{"port": 53, "protocol": "UDP"}]}]}


@scenario("networking")
def ingresses(p: ScenarioClient) -> None:
    p.create("ingresses", bodies.manifest(V1, "Ingress", "a", {"spec": {"defaultBackend": BACKEND}}))
    p.create("ingresses", bodies.manifest(V1, "Ingress", "b", {}))
    p.patch("merge", "ingresses", "a", {"spec": {"rules": [{"host": "a.example.com"}]}})
    p.patch("merge", "ingresses", "a", {"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}, "status")
    p.patch("strategic", "ingresses", "a", {"spec": {"rules": [{"host": "b.example.com"}]}})
    p.patch(
        "apply", "ingresses", "c", bodies.manifest(V1, "Ingress", "c", {"spec": {"defaultBackend": BACKEND}}), fieldManager="m"
    )
    p.read("ingresses", "a")
    p.list("ingresses")
    p.delete("ingresses", "a")


@scenario("networking")
def network_policies(p: ScenarioClient) -> None:
    p.create("networkpolicies", bodies.manifest(V1, "NetworkPolicy", "a", {"spec": POLICY}))
    p.create("networkpolicies", bodies.manifest(V1, "NetworkPolicy", "b", {"spec": {}}))
    p.create("networkpolicies", bodies.manifest(V1, "NetworkPolicy", "wrong", {"spec": {**POLICY, "policyTypes": ["x"]}}))
    p.patch("merge", "networkpolicies", "a", {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}})
    p.read("networkpolicies", "a", "status")
    p.list("networkpolicies")
    p.delete("networkpolicies", "a")
