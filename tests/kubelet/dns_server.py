"""The DNS server of the tests' cluster. It answers from Services and EndpointSlices, as CoreDNS does, at the time of the query.

python -m tests.kubelet.dns_server KUBECONFIG ADDRESS
"""

from __future__ import annotations

import ipaddress
import socket
import struct
import sys

from tests.cluster.api import Api

DOMAIN = ["svc", "cluster", "local"]
_A, _NO_ERROR, _NO_NAME = 1, 0, 3


def serve(api: Api, address: str) -> None:
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    while True:
        query, client = server.recvfrom(4096)
        labels, kind, end = _question(query)
        addresses = look_up(api, labels)
        code = _NO_NAME if addresses is None else _NO_ERROR
        found = [ipaddress.ip_address(each).packed for each in addresses or ()] if kind == _A else []
        records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", _A, 1, 5, 4) + each for each in found)
        head = query[:2] + struct.pack("!HHHHH", 0x8580 | code, 1, len(found), 0, 0)
        server.sendto(head + query[12:end] + records, client)


def look_up(api: Api, labels: list[str]) -> list[str] | None:
    """The addresses of a Service, or of one of its pods by hostname. None: there is no such name."""
    if labels[-3:] != DOMAIN or len(labels) not in (5, 6):
        return None
    *host, service, namespace = labels[:-3]
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    slices = api.call("GET", path, labelSelector=f"kubernetes.io/service-name={service}")["items"]
    endpoints = [each for found in slices for each in found.get("endpoints") or () if each["conditions"].get("ready")]
    chosen = [each for each in endpoints if not host or each.get("hostname") == host[0]]
    return [address for each in chosen for address in each["addresses"]] or None


def _question(query: bytes) -> tuple[list[str], int, int]:
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode().lower())
        at += query[at] + 1
    return labels, struct.unpack_from("!H", query, at + 1)[0], at + 5


if __name__ == "__main__":
    serve(Api(sys.argv[1]), sys.argv[2])
