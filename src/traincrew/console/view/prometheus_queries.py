"""What Prometheus is asked about the pods of a job, and what it answers (pure)."""

from __future__ import annotations

import json
import math
import re
from typing import NamedTuple

import msgspec

WINDOW = "2m"
"""Of rates: Prometheus reads most targets every 30 or 60 seconds."""


class PodSample(NamedTuple):
    """None: Prometheus does not know it."""

    cpu: float | None = None
    """Cores."""
    memory: float | None = None
    """Bytes."""
    received: float | None = None
    """Bytes a second."""
    sent: float | None = None
    gpu: float | None = None
    """Utilization of its GPUs, from 0 to 1."""
    gpu_memory: float | None = None
    """Bytes."""


_OF_PODS = {
    "cpu": f'sum by (pod) (rate(container_cpu_usage_seconds_total{{container!="",SELECTED}}[{WINDOW}]))',
    "memory": 'sum by (pod) (container_memory_working_set_bytes{container!="",SELECTED})',
    "received": f"sum by (pod) (rate(container_network_receive_bytes_total{{SELECTED}}[{WINDOW}]))",
    "sent": f"sum by (pod) (rate(container_network_transmit_bytes_total{{SELECTED}}[{WINDOW}]))",
    "gpu": "avg by (pod) (DCGM_FI_DEV_GPU_UTIL{SELECTED}) / 100",
    "gpu_memory": "sum by (pod) (DCGM_FI_DEV_FB_USED{SELECTED}) * 1048576",
}
"""Metrics of the kubelet's cAdvisor and of NVIDIA's DCGM exporter."""


def expression(namespace: str, job: str) -> str:
    """One query for all: the label `series` says which part a value belongs to."""
    parts = []
    for series, query in _OF_PODS.items():
        parts.append(_named(series, query.replace("SELECTED", _selected(namespace, job, ""))))
        if series.startswith("gpu"):
            # Prometheus renames the labels of an exporter that are labels of its own, too.
            exported = query.replace("SELECTED", _selected(namespace, job, "exported_")).replace("(pod)", "(exported_pod)")
            parts.append(_named(series, f'label_replace({exported}, "pod", "$1", "exported_pod", "(.+)")'))
    return " or ".join(parts)


def _named(series: str, query: str) -> str:
    return f'label_replace({query}, "series", "{series}", "", "")'


def _selected(namespace: str, job: str, prefix: str) -> str:
    pods = re.escape(job) + "-.+"
    return f"{prefix}namespace={json.dumps(namespace)},{prefix}pod=~{json.dumps(pods)}"


class _Value(msgspec.Struct):
    metric: dict[str, str] = {}
    value: tuple[float, str] = (0.0, "NaN")


class _Data(msgspec.Struct):
    result: list[_Value] = []


class _Answer(msgspec.Struct):
    status: str = ""
    error: str = ""
    data: _Data = msgspec.field(default_factory=_Data)


class QueryFailed(Exception):
    """Prometheus refuses the query, or what answers is no Prometheus. The message says it."""


def samples(answer: bytes) -> dict[str, PodSample]:
    """By name of the pod. Raise QueryFailed."""
    try:
        found = msgspec.json.decode(answer, type=_Answer)
    except msgspec.DecodeError:
        raise QueryFailed("the answer is not that of a Prometheus") from None
    if found.status != "success":
        raise QueryFailed(found.error[:300] or "the query failed")
    values = dict[str, dict[str, float]]()
    for each in found.data.result:
        series, value = each.metric.get("series", ""), _number(each.value[1])
        if series in _OF_PODS and value is not None:
            values.setdefault(each.metric.get("pod", ""), {}).setdefault(series, value)
    return {pod: PodSample(**of_pod) for pod, of_pod in values.items()}


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
