"""The DNS zone of the cluster: the records that CoreDNS derives from Services, EndpointSlices and pods. PURE"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]
CLUSTER_DOMAIN = "cluster.local"
SERVICE_NAME_LABEL = "kubernetes.io/service-name"
_API = ("default", "kubernetes")
_FAMILIES = {"IPv4": "A", "IPv6": "AAAA"}


class ZoneOutcome(enum.Enum):
    FOUND = "found"
    EMPTY = "the name exists, but has no record of that type"
    UNKNOWN = "no such name"
    ELSEWHERE = "outside of the zone"


@dataclasses.dataclass(frozen=True)
class ZoneAnswer:
    outcome: ZoneOutcome
    records: list[tuple[str, str, Any]] = dataclasses.field(default_factory=list)
    """Name, type, value: an address, a name, or [port, target] of an SRV record."""
    additional: list[tuple[str, str, Any]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Zone:
    domain: str = CLUSTER_DOMAIN
    names: dict[str, dict[str, list[Any]]] = dataclasses.field(default_factory=dict)
    """Values by type, by full name in lower case, without the final dot."""
    pointers: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """Names by address."""

    def __post_init__(self) -> None:
        self._empty_non_terminals = {self.domain}
        for name in self.names:
            parent = name.partition(".")[2]
            while parent not in self._empty_non_terminals and parent.endswith(self.domain):
                self._empty_non_terminals.add(parent)
                parent = parent.partition(".")[2]

    def content(self) -> dict[str, Any]:
        return {"domain": self.domain, "names": self.names, "pointers": self.pointers}

    @classmethod
    def loaded(cls, content: Mapping[str, Any]) -> Zone | None:
        try:
            domain = content["domain"]
            return cls(domain, dict(content["names"]), dict(content["pointers"])) if isinstance(domain, str) else None
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def has(self, name: str) -> bool:
        return name == self.domain or name.endswith("." + self.domain)

    def answer(self, name: str, kind: str) -> ZoneAnswer:
        """name: in lower case, without the final dot. A CNAME within the zone is followed."""
        if not self.has(name):
            return ZoneAnswer(ZoneOutcome.ELSEWHERE)
        known = self.names.get(name)
        if known is None:
            return ZoneAnswer(ZoneOutcome.EMPTY if name in self._empty_non_terminals else ZoneOutcome.UNKNOWN)
        if "CNAME" in known:
            alias = [(name, "CNAME", known["CNAME"][0])]
            follow = kind != "CNAME" and self.has(known["CNAME"][0])
            rest = self.names.get(known["CNAME"][0], {}).get(kind, []) if follow else []
            return ZoneAnswer(ZoneOutcome.FOUND, alias + [(known["CNAME"][0], kind, value) for value in rest])
        values = known.get(kind, [])
        records = [(name, kind, value) for value in values]
        return ZoneAnswer(
            ZoneOutcome.FOUND if records else ZoneOutcome.EMPTY, records, self._targets(values) if kind == "SRV" else []
        )

    def _targets(self, values: list[Any]) -> list[tuple[str, str, Any]]:
        targets = dict.fromkeys(value[1] for value in values)
        return [
            (target, kind, ip) for target in targets for kind in ("A", "AAAA") for ip in self.names.get(target, {}).get(kind, [])
        ]


def build_zone(
    services: Iterable[Object], endpointslices: Iterable[Object], pods: Iterable[Object], cluster_domain: str = CLUSTER_DOMAIN
) -> Zone:
    domain = cluster_domain.strip(".").lower()
    builder = _ZoneBuilder(domain)
    slices: dict[tuple[str, str], list[Object]] = {}
    for slice_ in endpointslices:
        owner = (slice_["metadata"].get("labels") or {}).get(SERVICE_NAME_LABEL)
        if owner and slice_.get("addressType") in _FAMILIES:
            slices.setdefault((slice_["metadata"].get("namespace", ""), owner), []).append(slice_)
    for service in services:
        key = (service["metadata"].get("namespace", ""), service["metadata"]["name"])
        builder.service(key, service.get("spec") or {}, slices.get(key, []))
    for pod in pods:
        builder.pod(pod)
    builder.add(f"dns-version.{domain}", "TXT", "1.1.0")
    return Zone(domain, builder.names, builder.pointers)


class _ZoneBuilder:
    def __init__(self, domain: str) -> None:
        self._domain = domain
        self.names: dict[str, dict[str, list[Any]]] = {}
        self.pointers: dict[str, list[str]] = {}
        self._seen: set[tuple[str, str, str]] = set()

    def add(self, name: str, kind: str, value: Any) -> None:
        name = name.lower()
        if (seen := (name, kind, str(value))) not in self._seen:
            self._seen.add(seen)
            self.names.setdefault(name, {}).setdefault(kind, []).append(value)

    def _add_pointer(self, address: str, name: str) -> None:
        if (seen := (address, "PTR", name.lower())) not in self._seen:
            self._seen.add(seen)
            self.pointers.setdefault(address, []).append(name.lower())

    def service(self, key: tuple[str, str], spec: Object, slices: list[Object]) -> None:
        name = f"{key[1]}.{key[0]}.svc.{self._domain}".lower()
        if spec.get("type") == "ExternalName":
            if spec.get("externalName"):
                self.add(name, "CNAME", str(spec["externalName"]).strip(".").lower())
            return
        address = spec.get("clusterIP") or "None"
        if address != "None":
            self._add_pointer(address, name)
            self.names.setdefault(name, {})
        if key == _API and address != "None":
            self._api(name, address, spec)
            return
        for slice_ in slices:
            self._slice(name, slice_)

    def _api(self, name: str, address: str, spec: Object) -> None:
        """The only Service whose cluster IP works."""
        kind = _kind(address)
        self.add(name, kind, address)
        for port in spec.get("ports") or ():
            self._port(name, port, kind, address, (int(port["port"]), name))

    def _slice(self, name: str, endpoint_slice: Object) -> None:
        kind = _FAMILIES[endpoint_slice["addressType"]]
        for endpoint in endpoint_slice.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready") is False:
                continue
            for address in endpoint.get("addresses") or ():
                host = f"{endpoint.get('hostname') or _dashed(address)}.{name}".lower()
                self.add(name, kind, address)
                self.add(host, kind, address)
                self._add_pointer(address, host)
                for port in endpoint_slice.get("ports") or ():
                    if port.get("port") is not None:
                        self._port(name, port, kind, address, (int(port["port"]), host))

    def _port(self, service: str, port: Object, kind: str, address: str, target: tuple[int, str]) -> None:
        self.add(service, "SRV", list(target))
        if port.get("name"):
            name = f"_{port['name']}._{port.get('protocol') or 'TCP'}.{service}"
            self.add(name, kind, address)
            self.add(name, "SRV", list(target))

    def pod(self, pod: Object) -> None:
        status = pod.get("status") or {}
        if status.get("phase") in ("Succeeded", "Failed"):
            return
        addresses = {entry.get("ip") for entry in status.get("podIPs") or ()} | {status.get("podIP")}
        for address in sorted(entry for entry in addresses if entry):
            name = f"{_dashed(address)}.{pod['metadata'].get('namespace', '')}.pod.{self._domain}"
            self.add(name, _kind(address), address)


def _kind(address: str) -> str:
    return "AAAA" if ":" in address else "A"


def _dashed(address: str) -> str:
    return address.replace(".", "-").replace(":", "-")
