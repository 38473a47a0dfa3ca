"""The EndpointSlices of a Service: at most a hundred endpoints each; an endpoint stays in its slice."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.endpoints import members
from traincrew.embedded.controllers.endpoints.members import CHANGED, HEADLESS, EndpointPort
from traincrew.embedded.controllers.pods import Pod

MAX_ENDPOINTS = 100
SERVICE = "kubernetes.io/service-name"
MANAGED, MANAGER = "endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"
ZONE = "topology.kubernetes.io/zone"
Ports = tuple[EndpointPort, ...]


@dataclasses.dataclass
class SliceChanges:
    create: list[Object] = dataclasses.field(default_factory=list)
    update: list[Object] = dataclasses.field(default_factory=list)
    delete: list[Object] = dataclasses.field(default_factory=list)


def slice_changes(service: Object, pods: Sequence[Pod], existing: Sequence[Object], zones: Mapping[str, str]) -> SliceChanges:
    """zones: the zone of every node, by name. Empty: the node has no zone."""
    changes = SliceChanges()
    for family in members.families(service):
        of_family = [slice_ for slice_ in existing if slice_["addressType"] == family]
        _change(service, _groups(service, pods, zones, family), of_family, family, changes)
    changes.delete += [slice_ for slice_ in existing if slice_["addressType"] not in members.families(service)]
    for slice_ in (*changes.create, *changes.update):
        kept = {key: value for key, value in (slice_["metadata"].get("annotations") or {}).items() if key != CHANGED}
        slice_["metadata"]["annotations"] = kept | members.changed(service, pods, not existing)
    return changes


def _groups(service: Object, pods: Sequence[Pod], zones: Mapping[str, str], family: str) -> dict[Ports, dict[str, Object]]:
    groups: dict[Ports, dict[str, Object]] = {}
    for pod in sorted(pods, key=lambda member: member.metadata.name):
        addresses = members.addresses(pod, family)
        known = pod.spec.node_name in zones or members.publishes_unready(service)
        if members.included(pod, True) and known:
            group = groups.setdefault(tuple(sorted(members.ports(service, pod), key=repr)), {})
            if addresses:
                group[pod.metadata.uid] = _endpoint(service, pod, addresses, zones.get(pod.spec.node_name, ""))
    return groups


def _endpoint(service: Object, pod: Pod, addresses: list[str], zone: str) -> Object:
    ready = members.publishes_unready(service) or (pod.ready and not pod.deleted)
    shown: Object = {
        "addresses": addresses,
        "conditions": {"ready": ready, "serving": pod.ready, "terminating": pod.deleted},
        "targetRef": members.target(pod),
    }
    optional = {"nodeName": pod.spec.node_name, "zone": zone, "hostname": members.hostname(service, pod)}
    return shown | {key: value for key, value in optional.items() if value}


def _change(
    service: Object, groups: dict[Ports, dict[str, Object]], existing: Sequence[Object], family: str, changes: SliceChanges
) -> None:
    labels = _labels(service)
    owned = [candidate for candidate in existing if _is_owned(candidate, service)]
    spare = [candidate for candidate in owned if _ports(candidate) not in groups]
    create: list[Object] = []
    kept = 0
    for ports, endpoints in groups.items():
        same = sorted(
            (candidate for candidate in owned if _ports(candidate) == ports),
            key=lambda candidate: str(candidate["metadata"]["name"]),
        )
        contents, left = _kept(same, endpoints)
        _fill(contents, left)
        for slice_, content in zip(same, contents, strict=True):
            if not content:
                spare.append(slice_)
                continue
            kept += 1
            if content != slice_.get("endpoints") or slice_["metadata"].get("labels") != labels:
                changes.update.append({**slice_, "metadata": {**slice_["metadata"], "labels": labels}, "endpoints": content})
        create += [
            _build(service, labels, family, ports, left[i : i + MAX_ENDPOINTS]) for i in range(0, len(left), MAX_ENDPOINTS)
        ]
    if not kept and not create:
        create = [_build(service, labels, family, (), [])]
        spare = _without_placeholder(spare, create)
    while spare and create:  # an existing slice is reused before another is created
        reused, fresh = spare.pop(0), create.pop()
        changes.update.append({**fresh, "metadata": {**reused["metadata"], "labels": labels}})
    changes.create += create if "deletionTimestamp" not in service["metadata"] else []
    changes.delete += spare + [candidate for candidate in existing if not _is_owned(candidate, service)]


def _without_placeholder(spare: list[Object], create: list[Object]) -> list[Object]:
    """An empty slice represents no endpoints; if it exists already there is nothing to do."""
    for slice_ in spare:
        same_labels = slice_["metadata"].get("labels") == create[0]["metadata"]["labels"]
        if same_labels and not slice_.get("endpoints") and not slice_.get("ports"):
            create.clear()
            return [other for other in spare if other is not slice_]
    return spare


def _kept(slices: Sequence[Object], endpoints: dict[str, Object]) -> tuple[list[list[Object]], list[Object]]:
    """The endpoints that remain in each slice, and those that are in none."""
    left, contents = dict(endpoints), []
    for slice_ in slices:
        uids = [(endpoint.get("targetRef") or {}).get("uid", "") for endpoint in slice_.get("endpoints") or ()]
        contents.append([left.pop(uid) for uid in uids if uid in left])
    return contents, list(left.values())


def _fill(contents: list[list[Object]], left: list[Object]) -> None:
    """Fills the fullest slice first."""
    for content in sorted(contents, key=len, reverse=True):
        room = MAX_ENDPOINTS - len(content)
        content += left[:room]
        del left[:room]


def _build(service: Object, labels: dict[str, str], family: str, ports: Ports, endpoints: list[Object]) -> Object:
    meta = service["metadata"]
    owner = {
        "apiVersion": "v1", "kind": "Service", "name": meta["name"], "uid": meta["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    named = {"generateName": f"{meta['name']}-", "namespace": meta["namespace"], "labels": labels, "ownerReferences": [owner]}
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": named, "addressType": family,
        "endpoints": endpoints, "ports": [members.port(port, nameless=False) for port in ports],
    }  # fmt: skip


def _labels(service: Object) -> dict[str, str]:
    meta = service["metadata"]
    own = {key: value for key, value in (meta.get("labels") or {}).items() if key not in (SERVICE, MANAGED, HEADLESS)}
    headless = {HEADLESS: ""} if members.is_headless(service) else {}
    return {**own, **headless, SERVICE: meta["name"], MANAGED: MANAGER}


def _ports(slice_: Object) -> Ports:
    ports = [
        (port.get("name", ""), port.get("port"), port.get("protocol", "TCP"), port.get("appProtocol"))
        for port in slice_.get("ports") or ()
    ]
    return tuple(sorted(ports, key=repr))


def _is_owned(slice_: Object, service: Object) -> bool:
    return any(reference["uid"] == service["metadata"]["uid"] for reference in slice_["metadata"].get("ownerReferences") or ())
