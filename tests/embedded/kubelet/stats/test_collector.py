"""Usage samples, rates, and the stats endpoints of the kubelet."""

from __future__ import annotations

import datetime as dt
import pathlib

from traincrew.embedded.kubelet.stats import endpoints
from traincrew.embedded.kubelet.stats.collector import PodUsageSample, StatsSample, UsageSample, read_machine_usage, usage_rates

TAKEN = dt.datetime(2030, 1, 1, 12, tzinfo=dt.UTC)
STARTED = "2030-01-01T11:59:00Z"


def pod(name: str, moment: float, **cpu: float) -> PodUsageSample:
    containers = {each: UsageSample(seconds, 1 << 20, moment, STARTED) for each, seconds in cpu.items()}
    return PodUsageSample("default", name, f"uid-{name}", STARTED, containers, len(cpu))


def at(moment: float, node: float, *pods: PodUsageSample) -> StatsSample:
    return StatsSample(TAKEN, UsageSample(node, 1 << 30, moment), 4 << 30, pods)


def test_a_rate_is_the_cpu_time_between_two_samples() -> None:
    rates = usage_rates(at(10, 100, pod("a", 10, main=1.0, side=0.0)), at(14, 106, pod("a", 14.5, main=3.25, side=0.0)))
    assert rates.window == dt.timedelta(seconds=4)
    assert rates.node.cores == 1.5
    assert {name: rate.cores for name, rate in rates.pods["default", "a"].items()} == {"main": 0.5, "side": 0.0}


def test_a_pod_is_omitted_until_all_its_containers_have_two_samples() -> None:
    rates = usage_rates(at(10, 0, pod("a", 10, main=1.0)), at(15, 0, pod("a", 15, main=2.0, side=0.5), pod("b", 15, main=1.0)))
    assert rates.pods == {}


def test_a_restarted_container_needs_two_new_samples() -> None:
    before = pod("a", 10, main=50.0)
    again = before._replace(containers={"main": before.containers["main"]._replace(cpu=0.5, attempt=1, moment=15.0)})
    assert usage_rates(at(10, 0, before), at(15, 0, again)).pods == {}


def test_resource_metrics_have_the_format_of_metrics_server() -> None:
    text = endpoints.resource_metrics(at(10, 100.5, pod("a", 10, main=1.25, side=2.0)))
    stamp = int(TAKEN.timestamp() * 1000)
    started = dt.datetime.fromisoformat(STARTED).timestamp()
    lines = text.splitlines()
    for line in (
        f'container_cpu_usage_seconds_total{{container="main",namespace="default",pod="a"}} 1.25 {stamp}',
        f'container_memory_working_set_bytes{{container="side",namespace="default",pod="a"}} 1048576 {stamp}',
        f'container_start_time_seconds{{container="main",namespace="default",pod="a"}} {started} {stamp}',
        f'pod_cpu_usage_seconds_total{{namespace="default",pod="a"}} 3.25 {stamp}',
        f"node_cpu_usage_seconds_total 100.5 {stamp}",
        f"node_memory_working_set_bytes 1073741824 {stamp}",
        "resource_scrape_error 0",
    ):
        assert line in lines
    assert text.endswith("\n")
    assert "# TYPE container_cpu_usage_seconds_total counter" in lines
    assert endpoints.resource_metrics(None).endswith("resource_scrape_error 1\n")


def test_the_summary_has_totals_and_rates() -> None:
    before, after = at(10, 100, pod("a", 10, main=1.0)), at(12, 101, pod("a", 12, main=2.0))
    summary = endpoints.summary("here", after, usage_rates(before, after))
    assert summary["node"]["nodeName"] == "here"
    assert summary["node"]["cpu"]["usageNanoCores"] == 500_000_000
    assert summary["node"]["memory"]["availableBytes"] == 3 << 30
    pod_summary = summary["pods"][0]
    assert pod_summary["podRef"] == {"name": "a", "namespace": "default", "uid": "uid-a"}
    assert pod_summary["containers"][0]["cpu"] == {
        "time": "2030-01-01T12:00:00Z", "usageNanoCores": 500_000_000, "usageCoreNanoSeconds": 2_000_000_000
    }  # fmt: skip
    assert endpoints.summary("here", None, None) == {"node": {"nodeName": "here"}, "pods": []}


def test_the_usage_of_the_machine_is_read_from_proc(tmp_path: pathlib.Path) -> None:
    (tmp_path / "stat").write_text("cpu  100 50 25 9999 777 5 10 10 0 0\ncpu0 1 1 1 1\n")
    (tmp_path / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 200 kB\nInactive(file): 300 kB\nHugePages_Total: 0\n")
    usage, total = read_machine_usage(tmp_path)
    assert (usage.cpu, usage.memory, total) == (2.0, 500 * 1024, 1000 * 1024)
