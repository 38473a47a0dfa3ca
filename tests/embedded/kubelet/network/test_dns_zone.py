"""The names in the zone, as in CoreDNS."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traincrew.embedded.kubelet.network.dns_zone import Zone, ZoneOutcome, build_zone

Object = dict[str, Any]


def _service(name: str, address: str = "None", **spec: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "team"}, "spec": {"clusterIP": address, **spec}}


def _slice(service: str, *endpoints: Object, ports: list[Object] | None = None, family: str = "IPv4") -> Object:
    labels = {"kubernetes.io/service-name": service}
    meta = {"name": f"{service}-x1", "namespace": "team", "labels": labels}
    return {"metadata": meta, "addressType": family, "endpoints": list(endpoints), "ports": ports or []}


def _endpoint(address: str, hostname: str = "", ready: bool | None = True) -> Object:
    return {"addresses": [address], "conditions": {} if ready is None else {"ready": ready}} | (
        {"hostname": hostname} if hostname else {}
    )


PORTS = [{"name": "grpc", "port": 2222, "protocol": "TCP"}]
JOB = build_zone(
    [
        _service("job"),
        _service("web", "10.96.3.4", ports=[{"name": "grpc", "port": 80}]),
        _service("empty"),
        _service("idle", "10.96.3.5"),
    ],
    [
        _slice(
            "job",
            _endpoint("10.244.0.5", "worker-0"),
            _endpoint("10.244.0.6"),
            _endpoint("10.244.0.7", "worker-2", False),
            ports=PORTS,
        ),
        _slice("web", _endpoint("10.244.0.8"), _endpoint("10.244.0.9", ready=None), ports=PORTS),
        _slice("empty", _endpoint("10.244.0.10", ready=False)),
    ],
    [
        {"metadata": {"name": "p", "namespace": "team"}, "status": {"podIP": "10.244.0.5", "phase": "Running"}},
        {"metadata": {"name": "q", "namespace": "team"}, "status": {"podIP": "10.244.0.99", "phase": "Succeeded"}},
        {"metadata": {"name": "r", "namespace": "team"}, "status": {}},
    ],
    "cluster.local",
)


def _values(zone: Zone, name: str, kind: str = "A") -> list[Any]:
    return [value for _, _, value in zone.answer(name, kind).records]


def test_a_headless_service_resolves_to_its_ready_pods() -> None:
    assert _values(JOB, "job.team.svc.cluster.local") == ["10.244.0.5", "10.244.0.6"]


def test_a_service_with_a_cluster_ip_resolves_to_its_ready_pods() -> None:
    assert _values(JOB, "web.team.svc.cluster.local") == ["10.244.0.8", "10.244.0.9"]


def test_the_api_server_resolves_to_its_cluster_ip() -> None:
    api = {
        "metadata": {"name": "kubernetes", "namespace": "default"},
        "spec": {"clusterIP": "10.96.0.1", "ports": [{"name": "https", "port": 443}]},
    }
    found = build_zone([api], [], [])
    assert _values(found, "kubernetes.default.svc.cluster.local") == ["10.96.0.1"]
    assert _values(found, "_https._tcp.kubernetes.default.svc.cluster.local", "SRV") == [
        [443, "kubernetes.default.svc.cluster.local"]
    ]


def test_a_pod_resolves_by_its_hostname_below_its_service() -> None:
    assert _values(JOB, "worker-0.job.team.svc.cluster.local") == ["10.244.0.5"]
    assert _values(JOB, "10-244-0-6.job.team.svc.cluster.local") == ["10.244.0.6"]


@pytest.mark.parametrize(
    "name",
    [
        "worker-2.job.team.svc.cluster.local",
        "10-244-0-5.job.team.svc.cluster.local",
        "empty.team.svc.cluster.local",
        "p.team.svc.cluster.local",
        "p.cluster.local",
        "job.other.svc.cluster.local",
        "job.team.svc.cluster.local.cluster.local",
        "10-244-0-99.team.pod.cluster.local",
        "10-244-0-77.team.pod.cluster.local",
        "_other._tcp.job.team.svc.cluster.local",
    ],
)
def test_a_missing_name_is_unknown(name: str) -> None:
    assert JOB.answer(name, "A").outcome is ZoneOutcome.UNKNOWN


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("job.team.svc.cluster.local", "AAAA"),
        ("worker-0.job.team.svc.cluster.local", "SRV"),
        ("idle.team.svc.cluster.local", "A"),
        ("team.svc.cluster.local", "A"),
        ("svc.cluster.local", "A"),
        ("cluster.local", "A"),
        ("_tcp.job.team.svc.cluster.local", "A"),
        ("job.team.svc.cluster.local", ""),
    ],
)
def test_an_existing_name_without_records_of_the_type_is_empty(name: str, kind: str) -> None:
    assert JOB.answer(name, kind).outcome is ZoneOutcome.EMPTY


@pytest.mark.parametrize("name", ["example.com", "", "local", "notcluster.local", "job", "cluster.local.example.com"])
def test_names_outside_the_zone_are_elsewhere(name: str) -> None:
    assert JOB.answer(name, "A").outcome is ZoneOutcome.ELSEWHERE


def test_named_ports_have_srv_records() -> None:
    answer = JOB.answer("_grpc._tcp.job.team.svc.cluster.local", "SRV")
    hosts = ["worker-0.job.team.svc.cluster.local", "10-244-0-6.job.team.svc.cluster.local"]
    assert [value for _, _, value in answer.records] == [[2222, host] for host in hosts]
    assert answer.additional == [(hosts[0], "A", "10.244.0.5"), (hosts[1], "A", "10.244.0.6")]
    assert _values(JOB, "job.team.svc.cluster.local", "SRV") == [[2222, host] for host in hosts]


def test_running_pods_resolve_by_their_addresses() -> None:
    assert _values(JOB, "10-244-0-5.team.pod.cluster.local") == ["10.244.0.5"]


def test_addresses_have_ptr_records() -> None:
    assert JOB.pointers["10.244.0.5"] == ["worker-0.job.team.svc.cluster.local"]
    assert JOB.pointers["10.244.0.8"] == ["10-244-0-8.web.team.svc.cluster.local"]
    assert JOB.pointers["10.96.3.4"] == ["web.team.svc.cluster.local"]
    assert "10.244.0.7" not in JOB.pointers


def test_aliases_within_the_zone_are_followed_and_others_are_returned() -> None:
    inner = _service("inner", type="ExternalName", externalName="Job.team.svc.cluster.local.")
    outer = _service("outer", type="ExternalName", externalName="example.com")
    found = build_zone([_service("job"), inner, outer], [_slice("job", _endpoint("10.244.0.5"))], [])
    assert found.answer("inner.team.svc.cluster.local", "A").records == [
        ("inner.team.svc.cluster.local", "CNAME", "job.team.svc.cluster.local"),
        ("job.team.svc.cluster.local", "A", "10.244.0.5"),
    ]
    assert found.answer("outer.team.svc.cluster.local", "A").records == [("outer.team.svc.cluster.local", "CNAME", "example.com")]


def test_both_address_families_have_their_record_types() -> None:
    found = build_zone(
        [_service("job")], [_slice("job", _endpoint("fd00::5"), family="IPv6"), _slice("job", _endpoint("10.244.0.5"))], []
    )
    assert _values(found, "job.team.svc.cluster.local", "AAAA") == ["fd00::5"]
    assert _values(found, "fd00--5.job.team.svc.cluster.local", "AAAA") == ["fd00::5"]
    assert _values(found, "job.team.svc.cluster.local") == ["10.244.0.5"]


def test_the_domain_of_the_cluster_is_configurable() -> None:
    found = build_zone([_service("job")], [_slice("job", _endpoint("10.244.0.5"))], [], "Example.Org.")
    assert _values(found, "job.team.svc.example.org") == ["10.244.0.5"]
    assert found.answer("job.team.svc.cluster.local", "A").outcome is ZoneOutcome.ELSEWHERE


def test_a_zone_is_restored_from_its_serialization() -> None:
    assert Zone.loaded(json.loads(json.dumps(JOB.content()))) == JOB


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner) | st.lists(inner)))
def test_invalid_content_is_not_a_zone(content: Any) -> None:
    if isinstance(content, dict):
        assert Zone.loaded(content) is None
        assert Zone.loaded({"domain": 1, "names": content, "pointers": content}) is None


def test_endpoint_slices_without_a_service_are_ignored() -> None:
    orphan = {"metadata": {"name": "x", "namespace": "team"}, "addressType": "IPv4", "endpoints": [_endpoint("10.244.0.5")]}
    named = _slice("job", {"addresses": ["example.com"]}, family="FQDN")
    assert build_zone([_service("job")], [orphan, named], []).names == {"dns-version.cluster.local": {"TXT": ["1.1.0"]}}
