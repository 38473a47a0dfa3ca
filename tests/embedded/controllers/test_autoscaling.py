"""The recommendations of an autoscaler, and their limits."""

from __future__ import annotations

import datetime as dt
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st

from traincrew.embedded.controllers.autoscaling import behaviour
from traincrew.embedded.controllers.autoscaling import metrics as autoscaling_metrics
from traincrew.embedded.controllers.autoscaling.behaviour import ScaleRequest, ScalingHistory
from traincrew.embedded.controllers.pods import Pod

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


def pod(number: int, phase: str = "Running", ready: str = "True") -> Pod:
    container = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
    status = {"phase": phase, "startTime": "2029-12-31T00:00:00Z", "conditions": [{"type": "Ready", "status": ready}]}
    return msgspec.convert({"metadata": {"name": f"p{number}"}, "spec": {"containers": [container]}, "status": status}, Pod)


def measured(values: list[int | None], current: int | None = None) -> autoscaling_metrics.ResourceMetrics:
    """values: thousandths of a core for each pod. None: not measured."""
    pods = [pod(number) for number in range(len(values))]
    metrics = {
        f"p{number}": autoscaling_metrics.PodMetric(value, NOW, dt.timedelta(seconds=15))
        for number, value in enumerate(values)
        if value is not None
    }
    return autoscaling_metrics.ResourceMetrics(pods, metrics, "cpu", len(values) if current is None else current)


@pytest.mark.parametrize(
    ("values", "replicas"),
    [([50, 50], 2), ([54, 54], 2), ([56, 56], 3), ([100, 100], 4), ([10, 10], 1), ([0, 0], 0), ([100, 0, 0], 2)],
)
def test_the_recommendation_reaches_the_target_within_the_tolerance(values: list[int | None], replicas: int) -> None:
    assert autoscaling_metrics.by_utilization(measured(values), 50, NOW).replicas == replicas
    assert autoscaling_metrics.by_value(measured(values), 50, NOW).replicas == replicas


@hypothesis.given(st.lists(st.one_of(st.none(), st.integers(0, 500)), min_size=1, max_size=8), st.integers(1, 200))
def test_unmeasured_pods_never_make_the_change_larger(values: list[int | None], target: int) -> None:
    known: list[int | None] = [value for value in values if value is not None]
    if not known:
        with pytest.raises(autoscaling_metrics.Unknown, match="did not receive metrics"):
            autoscaling_metrics.by_utilization(measured(values), target, NOW)
        return
    ratio = sum(value or 0 for value in known) * 100 // (100 * len(known)) / target
    replicas = autoscaling_metrics.by_utilization(measured(values), target, NOW).replicas
    current = len(values)
    if ratio > 1:
        assert replicas >= current or replicas == autoscaling_metrics.by_utilization(measured(known), target, NOW).replicas
    elif ratio < 1:
        assert replicas <= current


def test_utilization_requires_requests() -> None:
    bare = autoscaling_metrics.ResourceMetrics(
        [
            msgspec.convert(
                {"metadata": {"name": "p0"}, "spec": {"containers": [{"name": "c"}]}, "status": {"phase": "Running"}}, Pod
            )
        ],
        measured([5]).metrics,
        "memory",
        1,
    )
    with pytest.raises(autoscaling_metrics.Unknown, match="missing request for memory in container c of Pod p0"):
        autoscaling_metrics.by_utilization(bare, 50, NOW)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (500, "500m"), (1000, "1"), (2_000_000, "2k"), (83_886_080_000, "83886080")]
)
def test_quantities_are_rendered_as_in_kubernetes(value: int, text: str) -> None:
    assert autoscaling_metrics.render(value) == text


REQUESTS = st.builds(
    lambda current, desired, least, more: ScaleRequest(current, desired, least, least + more),
    st.integers(1, 50), st.integers(0, 100), st.integers(1, 20), st.integers(0, 60),
)  # fmt: skip
HISTORIES = st.lists(st.tuples(st.integers(1, 900), st.integers(0, 50)), max_size=6).map(
    lambda entries: ScalingHistory(
        tuple(behaviour.Recommendation(NOW - dt.timedelta(seconds=ago), replicas) for ago, replicas in entries)
    )
)


@hypothesis.given(request=REQUESTS, history=HISTORIES, has_behaviour=st.booleans())
def test_the_limited_scale_is_within_its_bounds(request: ScaleRequest, history: ScalingHistory, has_behaviour: bool) -> None:
    request = request._replace(current=min(max(request.current, request.least), request.most))
    result = behaviour.limit(request, {} if has_behaviour else None, history, NOW)
    assert request.least <= result.replicas <= request.most
    recent = [each.replicas for each in history.recommendations]
    assert result.replicas <= max(request.wanted, request.current, request.least, *recent, 0)
    assert result.limited == (result.limit[0] != "DesiredWithinRange")


def test_scaling_down_stops_at_the_highest_recommendation_of_five_minutes() -> None:
    history = ScalingHistory().recommended(8, NOW - dt.timedelta(seconds=301)).recommended(5, NOW - dt.timedelta(seconds=299))
    result = behaviour.limit(ScaleRequest(9, 2, 1, 10), None, history, NOW)
    assert (result.replicas, result.able[0]) == (5, "ScaleDownStabilized")


def test_the_scale_at_most_doubles() -> None:
    assert behaviour.limit(ScaleRequest(5, 40, 1, 50), None, ScalingHistory(), NOW).replicas == 10
    assert behaviour.limit(ScaleRequest(1, 40, 1, 50), None, ScalingHistory(), NOW).replicas == 4


def rules(choice: str, *policies: tuple[str, int, int]) -> dict[str, Any]:
    listed = [{"type": kind, "value": value, "periodSeconds": period} for kind, value, period in policies]
    return {"selectPolicy": choice, "policies": listed, "stabilizationWindowSeconds": 0}


@pytest.mark.parametrize(("choice", "up", "down"), [("Max", 20, 5), ("Min", 12, 8), ("Disabled", 10, 10)])
def test_policies_limit_the_change(choice: str, up: int, down: int) -> None:
    rule = rules(choice, ("Pods", 2, 60), ("Percent", 100, 60))
    assert behaviour.limit(ScaleRequest(10, 99, 1, 99), {"scaleUp": rule}, ScalingHistory(), NOW).replicas == up
    rule = rules(choice, ("Pods", 2, 60), ("Percent", 50, 60))
    assert behaviour.limit(ScaleRequest(10, 1, 1, 99), {"scaleDown": rule}, ScalingHistory(), NOW).replicas == down


def test_changes_within_the_period_count() -> None:
    history = ScalingHistory().changed(3, NOW - dt.timedelta(seconds=30))
    rule = {"scaleUp": rules("Max", ("Pods", 4, 60))}
    assert behaviour.limit(ScaleRequest(10, 99, 1, 99), rule, history, NOW).replicas == 11
    assert behaviour.limit(ScaleRequest(10, 99, 1, 99), rule, history, NOW + dt.timedelta(seconds=60)).replicas == 14
