"""Requests for streams of a pod, as the API server sends them to the kubelet. Messages are those of kube-apiserver 1.32."""

from __future__ import annotations

import datetime
from typing import Any
from urllib.parse import parse_qsl

import pytest

from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.streams import location
from traincrew.serving import query_options


def pod(name: str = "two", containers: str = "a b", node: str = "n") -> dict[str, Any]:
    spec = {"containers": [{"name": each} for each in containers.split()], "initContainers": [{"name": "i"}]}
    return {"metadata": {"namespace": "ns", "name": name}, "spec": spec | ({"nodeName": node} if node else {})}


def test_the_only_container_is_the_default() -> None:
    assert location.log(pod("one", "a"), []) == ("/containerLogs/ns/one/a", "")


def test_log_options_are_sorted() -> None:
    query = parse_qsl("container=b&timestamps=1&follow=true&previous=false&tailLines=3&limitBytes=9&sinceSeconds=5&pretty=1")
    expected = "follow=true&limitBytes=9&sinceSeconds=5&tailLines=3&timestamps=true"
    assert location.log(pod(), query) == ("/containerLogs/ns/two/b", expected)


def test_a_time_is_sent_in_utc() -> None:
    query = [("container", "i"), ("sinceTime", "2024-05-01T12:00:00.5+02:00")]
    assert location.log(pod(), query) == ("/containerLogs/ns/two/i", "sinceTime=2024-05-01T10%3A00%3A00Z")


def test_a_pod_without_a_node_has_no_log_yet() -> None:
    assert location.log(pod("one", "a", node=""), []) is None


def test_exec_options_become_the_kubelets() -> None:
    query = parse_qsl("container=a&command=sh&command=-c&command=echo+%26&stdin=true&stdout=1&stderr=false&tty=true")
    expected = "command=sh&command=-c&command=echo+%26&input=1&output=1&tty=1"
    assert location.exec(pod(), query) == ("/exec/ns/two/a", expected)


def test_an_empty_flag_of_attach_is_true() -> None:
    assert location.attach(pod(), [("container", "b"), ("stderr", "")]) == ("/attach/ns/two/b", "error=1")


def test_ports_are_joined_to_one_parameter() -> None:
    assert location.port_forward(pod(), [("ports", "80,81"), ("ports", "82")]) == ("/portForward/ns/two", "port=80%2C81%2C82")


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("", 400, "a container name must be specified for pod two, choose one of: [i a b]"),
        ("container=zz", 400, "container zz is not valid for pod two"),
        ("container=a&tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        (
            "container=a&tailLines=99999999999999999999",
            400,
            'strconv.ParseInt: parsing "99999999999999999999": value out of range',
        ),
        ("sinceTime=bad", 400, 'parsing time "bad" as "2006-01-02T15:04:05Z07:00": cannot parse "bad" as "2006"'),
        ("tailLines=-1", 422, 'PodLogOptions "two" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0'),
        (
            "sinceSeconds=0&limitBytes=0",
            422,
            'PodLogOptions "two" is invalid: [limitBytes: Invalid value: 0: must be greater than 0, '
            "sinceSeconds: Invalid value: 0: must be greater than 0]",
        ),
        (
            "sinceSeconds=1&sinceTime=2024-01-01T00:00:00Z",
            422,
            'PodLogOptions "two" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
        ),
        ("stream=Stdout", 422, 'PodLogOptions "two" is invalid: stream: Forbidden: may not be specified'),
    ],
)
def test_invalid_log_options_are_rejected(query: str, code: int, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        location.log(pod(), parse_qsl(query))
    assert (caught.value.code, caught.value.message) == (code, message)


def test_streams_of_a_pod_without_a_node_are_rejected() -> None:
    for ask in (location.exec, location.attach, location.port_forward):
        with pytest.raises(StatusError, match="pod one does not have a host assigned"):
            ask(pod("one", "a", node=""), [])


def test_ports_must_be_numbers() -> None:
    with pytest.raises(StatusError) as caught:
        location.port_forward(pod(), [("ports", "x")])
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'cannot convert to []int32: strconv.ParseUint: parsing "x": invalid syntax',
        "reason": "BadRequest",
        "code": 400,
    }


def test_a_nodes_endpoint_is_in_its_status() -> None:
    addresses = [{"type": "Hostname", "address": "here"}, {"type": "InternalIP", "address": "10.0.0.1"}]
    status: dict[str, Any] = {"addresses": addresses}
    assert location.endpoint({"status": status}) == ("10.0.0.1", 10250)
    status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": 77}}
    assert location.endpoint({"status": status}) == ("10.0.0.1", 77)
    with pytest.raises(StatusError, match="no preferred addresses found; known addresses: \\[\\]"):
        location.endpoint({})


def test_a_missing_node_is_reported_as_a_missing_pod() -> None:
    assert location.no_node("x").message == 'pods "x" not found'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2024-01-01", 'parsing time "2024-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2024-13-01T00:00:00Z", 'parsing time "2024-13-01T00:00:00Z": month out of range'),
        ("2023-02-29T00:00:00Z", 'parsing time "2023-02-29T00:00:00Z": day out of range'),
        ("2024-02-29T23:00:00Zz", 'parsing time "2024-02-29T23:00:00Zz": extra text: "z"'),
    ],
)
def test_invalid_times_are_reported_as_by_go(text: str, message: str) -> None:
    with pytest.raises(query_options.BadQuery) as caught:
        query_options.time({"sinceTime": text}, "sinceTime")
    assert str(caught.value) == message


def test_a_time_keeps_its_fraction_and_zone() -> None:
    expected = datetime.datetime(2024, 2, 29, 21, 30, 0, 250_000, datetime.UTC)
    assert query_options.time({"t": "2024-02-29T23:30:00.25+02:00"}, "t") == expected
