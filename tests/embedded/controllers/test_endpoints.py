"""Endpoints and slices contain every pod of a Service once, and change as little as possible."""

from __future__ import annotations

from typing import Any

import hypothesis
import msgspec
from hypothesis import strategies as st

from traincrew.embedded.controllers.endpoints import members, slices, subsets
from traincrew.embedded.controllers.pods import Pod

Object = dict[str, Any]
ZONES = {"node": "zone"}


def service(**spec: Any) -> Object:
    meta = {"name": "s", "namespace": "n", "uid": "service", "creationTimestamp": "2030-01-01T00:00:00Z"}
    spec = {"selector": {"app": "x"}, "clusterIP": "10.0.0.1", "ports": [{"port": 80, "targetPort": "web"}], **spec}
    return {"metadata": meta, "spec": spec}


def pod(number: int, port: int = 8080, ready: bool = True, phase: str = "Running") -> Pod:
    ip = f"10.{number // 250}.1.{number % 250}"
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    body = {
        "metadata": {"name": f"p{number}", "namespace": "n", "uid": f"u{number}", "labels": {"app": "x"}},
        "spec": {"nodeName": "node", "containers": [{"name": "c", "ports": [{"name": "web", "containerPort": port}]}]},
        "status": {"phase": phase, "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions},
    }
    return msgspec.convert(body, Pod)


PODS = st.lists(
    st.builds(
        pod, st.integers(0, 400), st.sampled_from([8080, 9090]), st.booleans(), st.sampled_from(["Running", "Running", "Failed"])
    ),
    max_size=30,
    unique_by=lambda each: each.metadata.uid,
)


def apply(existing: list[Object], changes: slices.SliceChanges) -> list[Object]:
    """Applies the changes as an API server does."""
    kept = {each["metadata"]["name"]: each for each in existing}
    for each in changes.delete:
        del kept[each["metadata"]["name"]]
    for each in changes.update:
        assert each["metadata"]["name"] in kept
        kept[each["metadata"]["name"]] = each
    for each in changes.create:
        name = f"s-{len(kept)}-{len(each['endpoints'])}-{id(each)}"
        kept[name] = {**each, "metadata": {**each["metadata"], "name": name}}
    return list(kept.values())


def endpoint_uids(existing: list[Object]) -> list[str]:
    return sorted(each["targetRef"]["uid"] for item in existing for each in item["endpoints"])


@hypothesis.given(st.lists(PODS, min_size=1, max_size=4))
def test_after_every_change_each_pod_is_in_one_slice(generations: list[list[Pod]]) -> None:
    existing: list[Object] = []
    for pods in generations:
        existing = apply(existing, slices.slice_changes(service(), pods, existing, ZONES))
        assert endpoint_uids(existing) == sorted(each.metadata.uid for each in pods if members.included(each, True))
        assert existing, "an empty slice represents no endpoints"
        assert slices.slice_changes(service(), pods, existing, ZONES) == slices.SliceChanges()


def test_a_slice_has_at_most_a_hundred_endpoints() -> None:
    existing = apply([], slices.slice_changes(service(), [pod(number) for number in range(100)], [], ZONES))
    assert len(existing) == 1
    more = slices.slice_changes(service(), [pod(number) for number in range(101)], existing, ZONES)
    assert [len(each) for each in (more.create, more.update, more.delete)] == [1, 0, 0]


def test_a_change_of_one_pod_changes_one_slice() -> None:
    pods = [pod(number) for number in range(150)]
    existing = apply([], slices.slice_changes(service(), pods, [], ZONES))
    for changed in ([*pods, pod(200)], pods[1:], [*pods[:-1], pod(149, ready=False)]):
        changes = slices.slice_changes(service(), changed, existing, ZONES)
        assert len(changes.create) + len(changes.update) + len(changes.delete) == 1


def test_slices_of_another_service_of_that_name_are_deleted() -> None:
    existing = apply([], slices.slice_changes(service(), [pod(1)], [], ZONES))
    again = service()
    again["metadata"]["uid"] = "another"
    changes = slices.slice_changes(again, [pod(1)], existing, ZONES)
    assert changes.delete == existing
    assert len(changes.create) == 1


@hypothesis.given(PODS)
def test_endpoints_contain_every_address_with_its_ports(pods: list[Pod]) -> None:
    addresses: dict[str, tuple[bool, int]] = {}
    for subset in subsets.subsets(service(), pods):
        for key, ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(key, ()):
                assert address["targetRef"]["uid"] not in addresses
                addresses[address["targetRef"]["uid"]] = (ready, subset["ports"][0]["port"])
    included = [each for each in pods if members.included(each, False)]
    assert addresses == {each.metadata.uid: (each.ready, each.spec.containers[0].ports[0].container_port) for each in included}


@hypothesis.given(PODS)
def test_unchanged_endpoints_are_not_written_again(pods: list[Pod]) -> None:
    endpoints = subsets.wanted(service(), pods, None)
    assert endpoints is not None
    assert subsets.wanted(service(), list(reversed(pods)), endpoints) is None


def test_endpoints_are_truncated_to_a_thousand_addresses() -> None:
    endpoints = subsets.wanted(service(), [pod(number) for number in range(1001)], None)
    assert endpoints is not None
    assert len(endpoints["subsets"][0]["addresses"]) == 1000
    assert endpoints["metadata"]["annotations"][subsets.OVER_CAPACITY] == "truncated"


def test_pods_with_the_loopback_address_are_not_endpoints() -> None:
    reachable = pod(1)
    local = msgspec.structs.replace(reachable, status=msgspec.structs.replace(reachable.status, pod_ip="127.0.0.1", pod_ips=[]))
    assert not members.included(local, terminating=False)
    assert members.addresses(local, "IPv4") == []
    assert members.included(reachable, terminating=False)
