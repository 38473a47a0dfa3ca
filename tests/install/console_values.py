"""Values of the chart for the console, with their effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.install.helm import Object

Objects = dict[tuple[str, str], Object]
NAME = "traincrew-console"
ON = "console.enabled=true"
PROMETHEUS = {
    "ports": [{"port": 9090, "protocol": "TCP"}],
    "to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
}
BY_PROXY = 'console={"enabled": true, "proxy": {"userHeader": "X-User", "addresses": ["10.0.0.7/32"], "groups": ["ops"]}}'


def deployment(found: Objects) -> Object:
    return found["Deployment", NAME]


def pod(found: Objects) -> Object:
    spec: Object = deployment(found)["spec"]["template"]["spec"]
    return spec


def args(found: Objects) -> list[str]:
    (container,) = pod(found)["containers"]
    given: list[str] = container["args"]
    return given


def _flag(value: str) -> Callable[[Objects], bool]:
    return lambda found: value in args(found)


EFFECTS: dict[str, tuple[Any, str, Callable[[Objects], Any], Any]] = {
    "console.replicas": (2, ON, lambda found: deployment(found)["spec"]["replicas"], 2),
    "console.publicUrl": ("https://c.example", ON, _flag("--public-url=https://c.example"), True),
    "console.tlsSecret": ("tls", ON, lambda found: found["Service", NAME]["spec"]["ports"][0]["port"], 443),
    "console.apiServerAddresses": (["https://a:6443"], ON, _flag("--api-server-address=https://a:6443"), True),
    "console.proxy.userHeader": ("X-Me", BY_PROXY, _flag("--proxy-user-header=X-Me"), True),
    "console.proxy.groupsHeader": ("X-Groups", BY_PROXY, _flag("--proxy-groups-header=X-Groups"), True),
    "console.proxy.groups": (
        ["ml"], BY_PROXY, lambda found: found["ClusterRole", NAME]["rules"][1]["resourceNames"], ["ml"],
    ),
    "console.proxy.addresses": (["10.1.0.0/16"], BY_PROXY, _flag("--proxy-address=10.1.0.0/16"), True),
    "console.proxy.secret": ("s", BY_PROXY, lambda found: pod(found)["volumes"][0]["secret"]["secretName"], "s"),
    "console.extraArgs": (["--max-sessions=5"], ON, lambda found: args(found)[-1], "--max-sessions=5"),
    "console.resources.requests.cpu": (
        "2", ON, lambda found: pod(found)["containers"][0]["resources"]["requests"]["cpu"], "2",
    ),
    "console.resources.requests.memory": (
        "2Gi", ON, lambda found: pod(found)["containers"][0]["resources"]["requests"]["memory"], "2Gi",
    ),
    "console.resources.limits.memory": (
        "2Gi", ON, lambda found: pod(found)["containers"][0]["resources"]["limits"]["memory"], "2Gi",
    ),
    "console.podDisruptionBudget.enabled": (
        False, f"{ON},console.replicas=2", lambda found: ("PodDisruptionBudget", NAME) in found, False,
    ),
    "console.networkPolicy.enabled": (False, ON, lambda found: ("NetworkPolicy", NAME) in found, False),
    "console.networkPolicy.from": (
        [{"podSelector": {}}], ON,
        lambda found: found["NetworkPolicy", NAME]["spec"]["ingress"][0]["from"], [{"podSelector": {}}],
    ),
    "console.networkPolicy.extraEgress": (
        [PROMETHEUS], ON, lambda found: found["NetworkPolicy", NAME]["spec"]["egress"][1:], [PROMETHEUS],
    ),
}  # fmt: skip
