"""Writes manifests/monitoring/dashboard.json, the Grafana dashboard of the operator. `make generate` runs it."""

from __future__ import annotations

import json
import pathlib
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).parents[1]
FILE = ROOT / "manifests" / "monitoring" / "dashboard.json"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT, COLUMNS = 8, 8, 3
OF_JOBS = 'job_namespace=~"$namespace",framework=~"$framework"'


class Panel(NamedTuple):
    title: str
    description: str
    queries: tuple[tuple[str, str], ...]
    """Expression and legend."""
    unit: str = "short"


def _per_hour(name: str) -> tuple[tuple[str, str], ...]:
    return ((f"sum by (framework) (increase({name}{{{OF_JOBS}}}[1h]))", "{{framework}}"),)


PANELS = (
    Panel("Jobs created", "Per hour", _per_hour("training_operator_jobs_created_total")),
    Panel("Jobs succeeded", "Per hour", _per_hour("training_operator_jobs_successful_total")),
    Panel("Jobs failed", "Per hour", _per_hour("training_operator_jobs_failed_total")),
    Panel("Restarts of jobs", "Per hour", _per_hour("training_operator_jobs_restarted_total")),
    Panel("Jobs deleted after their TTL", "Per hour", _per_hour("training_operator_jobs_deleted_total")),
    Panel(
        "Leader",
        "1 for the replica that reconciles jobs. The sum of each Lease must be 1.",
        (
            ("traincrew_is_leader", "{{pod}}"),
            ("sum by (lease_namespace, lease) (traincrew_is_leader)", "{{lease_namespace}}/{{lease}} sum"),
        ),
    ),
    Panel(
        "Other operators",
        "1 while a Go operator is running: traincrew does not reconcile the jobs of its kinds.",
        (("max by (operator) (traincrew_other_operator_running)", "{{operator}}"),),
    ),
    Panel("Work queue", "Jobs that wait for a reconciliation", (("traincrew_queue_depth", "{{pod}}"),)),
    Panel(
        "Duration of reconciliations",
        "99th percentile",
        (
            (
                "histogram_quantile(0.99, sum by (framework, le) (rate(traincrew_reconcile_seconds_bucket[5m])))",
                "{{framework}}",
            ),
        ),
        "s",
    ),
    Panel(
        "Failed reconciliations",
        "Per second. The log has a line for each.",
        (("sum by (framework) (rate(traincrew_reconcile_errors_total[5m]))", "{{framework}}"),),
    ),
    Panel(
        "Requests to the API server",
        "Per second, by status code. 0: no response.",
        (("sum by (code) (rate(traincrew_api_requests_total[5m]))", "{{code}}"),),
        "reqps",
    ),
    Panel(
        "Latency of the API server",
        "99th percentile",
        (("histogram_quantile(0.99, sum by (verb, le) (rate(traincrew_api_request_seconds_bucket[5m])))", "{{verb}}"),),
        "s",
    ),
    Panel(
        "Objects created and deleted",
        "Per second",
        (
            ("sum by (resource) (rate(traincrew_objects_created_total[5m]))", "{{resource}} created"),
            ("sum by (resource) (rate(traincrew_objects_deleted_total[5m]))", "{{resource}} deleted"),
        ),
    ),
    Panel(
        "Creates that the API server rejected",
        "Per hour. status.why of the jobs has the reason.",
        (("sum by (resource) (increase(traincrew_objects_refused_total[1h]))", "{{resource}}"),),
    ),
    Panel(
        "Workers of elastic jobs",
        "Mean number of workers: asked for, on idle capacity (surplus), starting, leaving, waiting for a node. Workers that "
        "repeat work since the last checkpoint are also counted as asked or surplus.",
        (
            (
                f"sum by (part) (rate(traincrew_elastic_worker_seconds_total{{{OF_JOBS}}}[5m]))",
                "{{part}}",
            ),
            (f"sum(rate(traincrew_elastic_redone_worker_seconds_total{{{OF_JOBS}}}[5m]))", "repeating work (asked, surplus)"),
        ),
    ),
    Panel(
        "Changes of elastic jobs",
        "Per hour, by reason",
        ((f"sum by (reason) (increase(traincrew_elastic_resizes_total{{{OF_JOBS}}}[1h]))", "{{reason}}"),),
    ),
    Panel(
        "Idle and lent capacity",
        "Resources that no pod requests, and resources that workers on idle capacity request, while the operator chooses the "
        "number of workers of a job.",
        (
            ('sum by (resource) (traincrew_elastic_idle{unit!="byte"})', "idle {{resource}}"),
            ('sum by (resource) (traincrew_elastic_lent{unit!="byte"})', "lent {{resource}}"),
            ("sum(traincrew_elastic_demands)", "owners of pending pods"),
            ("sum(increase(traincrew_elastic_surplus_refused_total[1h]))", "workers without a node, per hour"),
        ),
    ),
    Panel(
        "Time to add and to remove workers",
        "90th percentile of the time from the decision until a worker on idle capacity runs, or until a removed one is deleted.",
        tuple(
            (f"histogram_quantile(0.9, sum by (le) (rate(traincrew_elastic_{name}_seconds_bucket[1h])))", legend)
            for name, legend in (("fill", "start"), ("give_back", "leave"))
        ),
    ),
    Panel(
        "Memory and CPU of the operator",
        "Resident memory, and cores",
        (
            ('process_resident_memory_bytes{job="traincrew"}', "{{pod}} memory"),
            ('rate(process_cpu_seconds_total{job="traincrew"}[5m])', "{{pod}} cores"),
        ),
    ),
)


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    row, column = divmod(number, COLUMNS)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "gridPos": {"x": column * WIDTH, "y": row * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(panel.queries)
        ],
    }


def _variable(name: str, label: str) -> dict[str, Any]:
    query = f"label_values(training_operator_jobs_created_total, {label})"
    return {
        "name": name,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "refresh": 2,
        "current": {"text": "All", "value": "$__all"},
    }


def dashboard() -> dict[str, Any]:
    source = {"name": "datasource", "type": "datasource", "query": "prometheus"}
    return {
        "uid": "traincrew",
        "title": "traincrew",
        "tags": ["traincrew", "kubeflow"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [source, _variable("namespace", "job_namespace"), _variable("framework", "framework")]},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(dashboard(), indent=2) + "\n", encoding="utf-8")
