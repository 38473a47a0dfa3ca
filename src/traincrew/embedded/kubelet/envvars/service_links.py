"""Service environment variables: the addresses and ports of Services. PURE."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from traincrew.apimachinery.unstructured import Object


def service_variables(services: Iterable[Object], namespace: str, links: bool) -> Iterator[tuple[str, str]]:
    """Always of the API server; of the Services in the namespace if links is true (enableServiceLinks).

    Names and values, one after the other: a Service may have thousands of ports.
    """
    selected: dict[str, Object] = {}
    for service in services:
        meta, spec = service["metadata"], service.get("spec") or {}
        if spec.get("clusterIP", "None") in ("", "None"):
            continue
        if (meta["namespace"], meta["name"]) == ("default", "kubernetes"):
            selected.setdefault(meta["name"], spec)
        elif meta["namespace"] == namespace and links:
            selected[meta["name"]] = spec
    for each in sorted(selected):
        yield from _variables(each, selected[each])


def _variables(service: str, spec: Object) -> Iterator[tuple[str, str]]:
    name, address, ports = _name(service), str(spec["clusterIP"]), spec.get("ports") or []
    if not ports:
        return
    yield f"{name}_SERVICE_HOST", address
    yield f"{name}_SERVICE_PORT", str(ports[0]["port"])
    for port in ports:
        if port.get("name"):
            yield f"{name}_SERVICE_PORT_{_name(port['name'])}", str(port["port"])
    for index, port in enumerate(ports):
        number, protocol = port["port"], port.get("protocol") or "TCP"
        host = f"[{address}]" if ":" in address else address
        url = f"{protocol.lower()}://{host}:{number}"
        if not index:
            yield f"{name}_PORT", url
        prefix = f"{name}_PORT_{number}_{protocol.upper()}"
        yield from ((prefix, url), (f"{prefix}_PROTO", protocol.lower()), (f"{prefix}_PORT", str(number)))
        yield f"{prefix}_ADDR", address


def _name(text: str) -> str:
    return text.replace("-", "_").upper()
