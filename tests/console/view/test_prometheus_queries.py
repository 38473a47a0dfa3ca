"""What Prometheus is asked, and what is read from its answers."""

from __future__ import annotations

import json

import pytest

from traincrew.console.view import prometheus_queries, usage
from traincrew.console.view.prometheus_queries import PodSample, QueryFailed


def test_names_of_a_job_cannot_change_the_query() -> None:
    found = prometheus_queries.expression('a"} or vector(1) #', "m.n|.*")
    assert r'namespace="a\"} or vector(1) #"' in found
    assert r'pod=~"m\\.n\\|\\.\\*-.+"' in found
    assert found.count(" or label_replace(") == 7


def answer(*results: tuple[str, str, str]) -> bytes:
    found = [{"metric": {"pod": pod, "series": series}, "value": [1795000000.1, value]} for pod, series, value in results]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": found}}).encode()


def test_values_are_those_of_pods() -> None:
    found = prometheus_queries.samples(
        answer(
            ("a-worker-0", "received", "1.5e3"), ("a-worker-0", "gpu", "0.97"), ("a-worker-1", "sent", "NaN"), ("b", "other", "1")
        )
    )
    assert found == {"a-worker-0": PodSample(received=1500.0, gpu=0.97)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"status":"error","errorType":"bad_data","error":"parse error"}', "parse error"),
        (b"<html>", "the answer is not that of a Prometheus"),
        (b'{"status":"success","data":{"result":[{"metric":{},"value":"x"}]}}', "the answer is not that of a Prometheus"),
        (b"{}", "the query failed"),
    ],
)
def test_what_is_no_answer_is_said(text: bytes, message: str) -> None:
    with pytest.raises(QueryFailed, match=message):
        prometheus_queries.samples(text)


def test_cpu_and_memory_of_the_metrics_server_come_first() -> None:
    sample = PodSample(cpu=1.0, memory=2.0, received=3.0, gpu_memory=4.6)
    assert usage.with_sample(usage.Used(0.5, 10), sample) == usage.Used(0.5, 10, 3.0, None, None, 5)
    assert usage.with_sample(usage.Used(None, None), sample) == usage.Used(1.0, 2, 3.0, None, None, 5)
