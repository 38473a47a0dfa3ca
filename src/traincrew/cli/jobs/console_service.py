"""The console that runs in the cluster: its Service, and the pod behind it that takes connections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from traincrew import errors
from traincrew.client.interfaces import Reader
from traincrew.model import resources

NAMESPACE = "kubeflow"
"""Where chart and manifests install the console. Other namespaces are not searched: a user who may create a Service in one of
them could collect the credentials of others with a Service of the same label."""
LABELS = "app.kubernetes.io/name=traincrew-console"
PORT = "console"


class ServiceReference(NamedTuple):
    namespace: str = NAMESPACE
    name: str = ""
    """Empty: the only Service with the labels of the console."""


class ConsolePod(NamedTuple):
    namespace: str
    name: str
    port: int
    encrypted: bool
    """It serves HTTPS."""


class _Metadata(msgspec.Struct):
    name: str = ""


class _ServicePort(msgspec.Struct, rename="camel"):
    name: str = ""
    port: int = 0
    target_port: int | str = 0
    app_protocol: str = ""


class _ServiceSpec(msgspec.Struct):
    ports: list[_ServicePort] = []
    selector: dict[str, str] = {}


class _Service(msgspec.Struct):
    metadata: _Metadata
    spec: _ServiceSpec


class _ContainerPort(msgspec.Struct, rename="camel"):
    name: str = ""
    container_port: int = 0


class _Container(msgspec.Struct):
    ports: list[_ContainerPort] = []


class _PodSpec(msgspec.Struct):
    containers: list[_Container] = []


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _PodStatus(msgspec.Struct):
    conditions: list[_Condition] = []


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _PodSpec
    status: _PodStatus


async def find(reader: Reader, reference: ServiceReference) -> ConsolePod | None:
    """A pod of the console that is ready. None: the cluster has no such Service. Raise Forbidden, SettingsError, Unreachable."""
    services = await _services(reader, reference)
    if not services:
        return None
    if len(services) > 1:
        names = ", ".join(f"{reference.namespace}/{each.metadata.name}" for each in services)
        raise errors.SettingsError(f"the cluster has more than one console: {names}. Name one with --console NAMESPACE/SERVICE.")
    service = services[0]
    labels = ",".join(f"{name}={value}" for name, value in service.spec.selector.items())
    pages = reader.pages(resources.PODS, reference.namespace, labels=labels)
    pods = [msgspec.json.decode(raw, type=_Pod) async for page in pages for raw in page.items] if labels else []
    found = console_pod(reference.namespace, service.spec.ports, pods)
    if found is None:
        raise errors.Unreachable(
            f"the console {reference.namespace}/{service.metadata.name} has no ready pod. Run `kubectl -n {reference.namespace} "
            f"get pods -l {labels}`"
        )
    return found


async def _services(reader: Reader, reference: ServiceReference) -> list[_Service]:
    if reference.name:
        try:
            found = await reader.get(resources.SERVICES, reference.namespace, reference.name)
        except errors.NotFound:
            message = f"there is no Service {reference.namespace}/{reference.name} (--console)"
            raise errors.SettingsError(f"{message}. Run `kubectl get services -A -l {LABELS}`.") from None
        return [msgspec.json.decode(found, type=_Service)]
    pages = reader.pages(resources.SERVICES, reference.namespace, labels=LABELS)
    return [msgspec.json.decode(raw, type=_Service) async for page in pages for raw in page.items]


def console_pod(namespace: str, ports: Sequence[_ServicePort], pods: Sequence[_Pod]) -> ConsolePod | None:
    """The first pod that is ready and has the port of the Service. Pure."""
    port = next((each for each in ports if each.name == PORT), ports[0] if ports else None)
    if port is None:
        return None
    for pod in sorted(pods, key=lambda each: each.metadata.name):
        number = _number(port, pod)
        if number and any((each.type, each.status) == ("Ready", "True") for each in pod.status.conditions):
            return ConsolePod(namespace, pod.metadata.name, number, port.app_protocol == "https")
    return None


def _number(port: _ServicePort, pod: _Pod) -> int:
    if isinstance(port.target_port, int):
        return port.target_port or port.port
    named = (each for container in pod.spec.containers for each in container.ports if each.name == port.target_port)
    return next((each.container_port for each in named), 0)
