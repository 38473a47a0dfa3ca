"""The decision of an autoscaler, and its status."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Sequence

from traincrew.apimachinery import quantities, times
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.autoscaling import behaviour
from traincrew.embedded.controllers.autoscaling import metrics as autoscaling_metrics
from traincrew.embedded.controllers.pods import Pod

NORMAL, WARNING = "Normal", "Warning"
Event = tuple[str, str, str]


@dataclasses.dataclass
class StatusReport:
    """The status that is being built, and the events."""

    status: Object
    now: dt.datetime
    events: list[Event] = dataclasses.field(default_factory=list)

    def set(self, type: str, value: bool, reason: str, message: str) -> None:
        conditions = [dict(each) for each in self.status.get("conditions") or ()]
        entry = next((each for each in conditions if each["type"] == type), None)
        if entry is None:
            entry = {"type": type}
            conditions.append(entry)
        status = "True" if value else "False"
        if entry.get("status") != status:
            entry["lastTransitionTime"] = times.rfc3339(self.now)
        entry |= {"status": status, "reason": reason, "message": message}
        self.status["conditions"] = conditions

    def warn(self, reason: str, message: str) -> None:
        self.events.append((WARNING, reason, message))


@dataclasses.dataclass(frozen=True)
class ScaleTarget:
    scale: Object
    pods: Sequence[Pod]
    metrics: Callable[[], Sequence[Object]]
    """PodMetrics of the pods; raises Unknown."""


@dataclasses.dataclass(frozen=True)
class ScalingDecision:
    replicas: int | None = None
    """The new scale; None: unchanged."""
    reason: str = ""
    recommended: int | None = None
    history: behaviour.ScalingHistory = behaviour.ScalingHistory()


def report(autoscaler: Object, now: dt.datetime) -> StatusReport:
    return StatusReport(dict(autoscaler.get("status") or {}), now)


def unreachable(report: StatusReport, message: str) -> None:
    report.warn("FailedGetScale", message)
    report.set(
        "AbleToScale", False, "FailedGetScale", f"the HPA controller was unable to get the target's current scale: {message}"
    )


def decide(autoscaler: Object, target: ScaleTarget, report: StatusReport, history: behaviour.ScalingHistory) -> ScalingDecision:
    """Fills the report, except for the result of the scale update."""
    spec, current = autoscaler["spec"], int(target.scale["spec"].get("replicas", 0))
    report.set("AbleToScale", True, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
    report.status |= {"currentReplicas": current}
    if not history.recommendations:
        history = history.recommended(current, report.now)
    least, most = int(spec.get("minReplicas", 1)), int(spec["maxReplicas"])
    if current == 0 and least != 0:
        report.set("ScalingActive", False, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
        return _keep_scale(report, current, history)
    if current > most:
        return ScalingDecision(most, "Current number of replicas above Spec.MaxReplicas", history=history)
    if current < least:
        return ScalingDecision(least, "Current number of replicas below Spec.MinReplicas", history=history)
    return _by_metrics(autoscaler, target, report, history)


def _keep_scale(report: StatusReport, current: int, history: behaviour.ScalingHistory) -> ScalingDecision:
    report.status["desiredReplicas"] = current
    return ScalingDecision(history=history)


def _by_metrics(
    autoscaler: Object, target: ScaleTarget, report: StatusReport, history: behaviour.ScalingHistory
) -> ScalingDecision:
    spec, current = autoscaler["spec"], int(target.scale["spec"].get("replicas", 0))
    recommendation = _recommended(autoscaler, target, report)
    if recommendation is None:
        report.status.setdefault("desiredReplicas", 0)
        return ScalingDecision(history=history)
    desired, metric = recommendation
    request = behaviour.ScaleRequest(current, desired, int(spec.get("minReplicas", 1)), int(spec["maxReplicas"]))
    limited = behaviour.limit(request, spec.get("behavior"), history, report.now)
    report.set("AbleToScale", True, *limited.able)
    report.set("ScalingLimited", limited.limited, *limited.limit)
    history = history.recommended(desired, report.now)
    if limited.replicas == current:
        return _keep_scale(report, current, history)
    reason = f"{metric} above target" if desired > current else "All metrics below target" if desired < current else ""
    return ScalingDecision(limited.replicas, reason, desired, history)


def _recommended(autoscaler: Object, target: ScaleTarget, report: StatusReport) -> tuple[int, str] | None:
    """The highest proposal of the metrics, and its metric. None: no metric is available."""
    metrics = autoscaler["spec"].get("metrics") or []
    if not (target.scale.get("status") or {}).get("selector"):
        report.warn("SelectorRequired", "selector is required")
        report.set("ScalingActive", False, "InvalidSelector", "the HPA target's scale is missing a selector")
        report.warn("FailedComputeMetricsReplicas", "selector is required")
        report.status.pop("currentMetrics", None)
        return None
    proposals: list[tuple[int, str]] = []
    shown: list[Object] = []
    failures: list[tuple[str, str, str]] = []
    for metric in metrics:
        try:
            replicas, name, status = _proposal(metric, target, report.now)
        except _Failed as failed:
            failures.append((failed.reason, failed.message, failed.prefix))
            report.warn(failed.reason, failed.message)
            shown.append({"type": ""})
        else:
            proposals.append((replicas, name))
            shown.append(status)
    report.status["currentMetrics"] = shown
    best = max(proposals, key=lambda each: each[0], default=(0, ""))
    if failures and (len(failures) == len(metrics) or best[0] < target.scale["spec"].get("replicas", 0)):
        _report_failure(report, failures, len(metrics))
        return None
    report.set(
        "ScalingActive", True, "ValidMetricFound",
        f"the HPA was able to successfully calculate a replica count from {best[1]}",
    )  # fmt: skip
    return best


def _report_failure(report: StatusReport, failures: Sequence[tuple[str, str, str]], count: int) -> None:
    reason, message, prefix = failures[0]
    report.set("ScalingActive", False, reason, f"the HPA was unable to compute the replica count: {message}")
    first = f"invalid metrics ({len(failures)} invalid out of {count}), first error is: {prefix}: {message}"
    report.warn("FailedComputeMetricsReplicas", first)


class _Failed(Exception):
    def __init__(self, reason: str, message: str, prefix: str) -> None:
        super().__init__(message)
        self.reason, self.message, self.prefix = reason, message, prefix


_NO_CUSTOM = "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"


def _proposal(metric: Object, target: ScaleTarget, now: dt.datetime) -> tuple[int, str, Object]:
    match metric["type"]:
        case "Resource":
            source = metric["resource"]
            return _resource(metric["type"], source, target, now)
        case "ContainerResource":
            source = metric["containerResource"]
            return _resource(metric["type"], source, target, now)
        case "Pods" | "Object" as kind:
            name = metric[kind.lower()]["metric"]["name"]
            message = f"unable to get metric {name}: {_NO_CUSTOM}"
            raise _Failed(f"FailedGet{kind}Metric", message, f"failed to get {kind.lower()} metric value")
    name = metric["external"]["metric"]["name"]
    missing = f"the server could not find the requested resource (get {name}.external.metrics.k8s.io)"
    message = f"unable to get external metric {name}: unable to fetch metrics from external metrics API: {missing}"
    raise _Failed("FailedGetExternalMetric", message, f"failed to get {name} external metric value")


def _resource(kind: str, source: Object, target: ScaleTarget, now: dt.datetime) -> tuple[int, str, Object]:
    name, container, goal = source["name"], source.get("container", ""), source["target"]
    by_value = goal.get("averageValue") is not None
    try:
        measured = _measured(source, target)
        if by_value:
            proposal = autoscaling_metrics.by_value(measured, quantities.milli_value(goal["averageValue"]), now)
        else:
            proposal = autoscaling_metrics.by_utilization(measured, goal["averageUtilization"], now)
    except autoscaling_metrics.Unknown as unknown:
        prefix = (
            f"failed to get {container} container metric value" if container else f"failed to get {name} resource metric value"
        )
        message = f"failed to get {name} {'usage' if by_value else 'utilization'}: {unknown}"
        raise _Failed(f"FailedGet{kind}Metric", message, prefix) from None
    noun = "container resource" if container else "resource"
    metric = f"{name} resource" if by_value else f"{name} {noun} utilization (percentage of request)"
    current: Object = {"averageValue": autoscaling_metrics.render(proposal.value)}
    if proposal.utilization is not None:
        current["averageUtilization"] = proposal.utilization
    status = {"name": name, "current": current, **({"container": container} if container else {})}
    return proposal.replicas, metric, {"type": kind, kind[0].lower() + kind[1:]: status}


def _measured(source: Object, target: ScaleTarget) -> autoscaling_metrics.ResourceMetrics:
    name, container = source["name"], source.get("container", "")
    try:
        items = target.metrics()
    except autoscaling_metrics.Unknown as unknown:
        raise autoscaling_metrics.Unknown(f"unable to get metrics for resource {name}: {unknown}") from None
    if not items:
        raise autoscaling_metrics.Unknown(
            f"unable to get metrics for resource {name}: no metrics returned from resource metrics API"
        )
    current = int(target.scale["spec"].get("replicas", 0))
    return autoscaling_metrics.ResourceMetrics(
        target.pods, autoscaling_metrics.read(items, name, container), name, current, container
    )


def scaled(report: StatusReport, outcome: ScalingDecision) -> None:
    report.set(
        "AbleToScale", True, "SucceededRescale",
        f"the HPA controller was able to update the target scale to {outcome.replicas}",
    )  # fmt: skip
    report.events.append((NORMAL, "SuccessfulRescale", f"New size: {outcome.replicas}; reason: {outcome.reason}"))
    report.status |= {"desiredReplicas": outcome.replicas, "lastScaleTime": times.rfc3339(report.now)}


def not_scaled(report: StatusReport, outcome: ScalingDecision, message: str) -> None:
    report.warn("FailedRescale", f"New size: {outcome.replicas}; reason: {outcome.reason}; error: {message}")
    report.set("AbleToScale", False, "FailedUpdateScale", f"the HPA controller was unable to update the target scale: {message}")
    report.status.setdefault("desiredReplicas", 0)
