"""Endpoints and slices show every pod of a Service once, and change as little as they can."""

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


def apply(held: list[Object], found: slices.SliceChanges) -> list[Object]:
    """As an API server would."""
    kept = {each["metadata"]["name"]: each for each in held}
    for each in found.delete:
        del kept[each["metadata"]["name"]]
    for each in found.update:
        assert each["metadata"]["name"] in kept
        kept[each["metadata"]["name"]] = each
    for each in found.create:
        name = f"s-{len(kept)}-{len(each['endpoints'])}-{id(each)}"
        kept[name] = {**each, "metadata": {**each["metadata"], "name": name}}
    return list(kept.values())


def shown(held: list[Object]) -> list[str]:
    return sorted(each["targetRef"]["uid"] for item in held for each in item["endpoints"])


@hypothesis.given(st.lists(PODS, min_size=1, max_size=4))
def test_after_every_change_each_pod_is_in_one_slice_and_nothing_is_left_to_do(worlds: list[list[Pod]]) -> None:
    held: list[Object] = []
    for pods in worlds:
        held = apply(held, slices.slice_changes(service(), pods, held, ZONES))
        assert shown(held) == sorted(each.metadata.uid for each in pods if members.included(each, True))
        assert held, "an empty slice stands for no endpoints"
        assert slices.slice_changes(service(), pods, held, ZONES) == slices.SliceChanges()


def test_a_hundred_endpoints_are_in_one_slice_and_one_more_makes_two() -> None:
    held = apply([], slices.slice_changes(service(), [pod(number) for number in range(100)], [], ZONES))
    assert len(held) == 1
    more = slices.slice_changes(service(), [pod(number) for number in range(101)], held, ZONES)
    assert [len(each) for each in (more.create, more.update, more.delete)] == [1, 0, 0]


def test_one_pod_that_comes_or_goes_changes_one_slice() -> None:
    pods = [pod(number) for number in range(150)]
    held = apply([], slices.slice_changes(service(), pods, [], ZONES))
    for changed in ([*pods, pod(200)], pods[1:], [*pods[:-1], pod(149, ready=False)]):
        found = slices.slice_changes(service(), changed, held, ZONES)
        assert len(found.create) + len(found.update) + len(found.delete) == 1


def test_slices_of_another_service_of_that_name_are_deleted() -> None:
    held = apply([], slices.slice_changes(service(), [pod(1)], [], ZONES))
    again = service()
    again["metadata"]["uid"] = "another"
    found = slices.slice_changes(again, [pod(1)], held, ZONES)
    assert found.delete == held
    assert len(found.create) == 1


@hypothesis.given(PODS)
def test_endpoints_list_every_address_at_the_ports_it_has(pods: list[Pod]) -> None:
    found: dict[str, tuple[bool, int]] = {}
    for subset in subsets.subsets(service(), pods):
        for key, ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(key, ()):
                assert address["targetRef"]["uid"] not in found
                found[address["targetRef"]["uid"]] = (ready, subset["ports"][0]["port"])
    included = [each for each in pods if members.included(each, False)]
    assert found == {each.metadata.uid: (each.ready, each.spec.containers[0].ports[0].container_port) for each in included}


@hypothesis.given(PODS)
def test_endpoints_that_are_right_are_not_written_again(pods: list[Pod]) -> None:
    made = subsets.wanted(service(), pods, None)
    assert made is not None
    assert subsets.wanted(service(), list(reversed(pods)), made) is None


def test_no_more_than_a_thousand_addresses_are_listed_and_it_says_so() -> None:
    made = subsets.wanted(service(), [pod(number) for number in range(1001)], None)
    assert made is not None
    assert len(made["subsets"][0]["addresses"]) == 1000
    assert made["metadata"]["annotations"][subsets.OVER_CAPACITY] == "truncated"


def test_pods_at_the_loopback_are_nobodys_endpoints() -> None:
    there = pod(1)
    here = msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, pod_ip="127.0.0.1", pod_ips=[]))
    assert not members.included(here, terminating=False)
    assert members.addresses(here, "IPv4") == []
    assert members.included(there, terminating=False)
