"""Defaults of pods and pod templates."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core.pods import image_references

_SPEC = (
    ("restartPolicy", "Always"),
    ("dnsPolicy", "ClusterFirst"),
    ("schedulerName", "default-scheduler"),
    ("terminationGracePeriodSeconds", 30),
)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_SOURCES: dict[str, dict[str, Any]] = {
    "hostPath": {"type": ""},
    "secret": {"defaultMode": 420},
    "configMap": {"defaultMode": 420},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def pod(obj: Object) -> None:
    spec = obj["spec"]
    template_spec(spec)
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        _requests_from_limits(container["resources"])
        if spec.get("hostNetwork"):
            _host_ports(container.get("ports") or ())
    if "enableServiceLinks" not in spec:
        spec["enableServiceLinks"] = True
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1


def template(obj: Object) -> None:
    template_spec(obj["spec"])


def template_spec(spec: Object) -> None:
    for field, value in _SPEC:
        if field not in spec:
            spec[field] = value
    if "securityContext" not in spec:
        spec["securityContext"] = {}
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in spec.get("containers") or ():
        _container(container)
    for container in spec.get("initContainers") or ():
        _container(container)
    for container in spec.get("ephemeralContainers") or ():
        _container(container)
    for volume in spec.get("volumes") or ():
        volume_source(volume)


def _container(container: Object) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = image_references.pull_policy(container.get("image") or "")
    if "terminationMessagePath" not in container:
        container["terminationMessagePath"] = "/dev/termination-log"
    if "terminationMessagePolicy" not in container:
        container["terminationMessagePolicy"] = "File"
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        if "valueFrom" in variable:
            _field_ref(variable["valueFrom"])
    for name in _PROBES:
        if name in container:
            _probe(container[name])
    if "lifecycle" in container:
        for handler in container["lifecycle"].values():
            _http_get(handler)


def _field_ref(source: Object) -> None:
    if "fieldRef" in source:
        source["fieldRef"].setdefault("apiVersion", "v1")


def _probe(probe: Object) -> None:
    for field, value in _PROBE.items():
        probe.setdefault(field, value)
    _http_get(probe)
    if "grpc" in probe:
        probe["grpc"]["service"] = probe["grpc"].get("service") or ""


def _http_get(handler: Any) -> None:
    if isinstance(handler, dict) and "httpGet" in handler:
        handler["httpGet"].setdefault("path", "/")
        handler["httpGet"].setdefault("scheme", "HTTP")


def volume_source(volume: Object) -> None:
    """Of a volume of a pod, or of a persistent volume."""
    if len(volume) == 1 and "name" in volume:
        volume["emptyDir"] = {}
    for kind, defaults in _SOURCES.items():
        if kind in volume:
            for field, value in defaults.items():
                volume[kind].setdefault(field, value)
    if "downwardAPI" in volume:
        volume["downwardAPI"].setdefault("defaultMode", 420)
        _downward(volume["downwardAPI"])
    if "projected" in volume:
        _projected(volume["projected"])
    claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if claim:
        claim["spec"].setdefault("volumeMode", "Filesystem")


def _downward(source: Object) -> None:
    for item in source.get("items") or ():
        _field_ref(item)


def _projected(source: Object) -> None:
    source.setdefault("defaultMode", 420)
    for each in source.get("sources") or ():
        if "downwardAPI" in each:
            _downward(each["downwardAPI"])
        if "serviceAccountToken" in each:
            each["serviceAccountToken"].setdefault("expirationSeconds", 3600)


def _requests_from_limits(resources: Object) -> None:
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _host_ports(ports: Any) -> None:
    for port in ports:
        if not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort", 0)
