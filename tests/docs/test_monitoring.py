"""Dashboard, alert rules and the page of metrics agree with the metrics of the code."""

from __future__ import annotations

import json
import pathlib
import re

import pytest
import yaml

from tools import metrics_page

ROOT = pathlib.Path(__file__).parents[2]
MONITORING = ROOT / "manifests" / "monitoring"
RULES = [rule for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]
NAME = re.compile(r"\b((?:traincrew|training_operator|process)_\w+|(?:created|deleted|failed|succeeded)_\w+_total)\b")
OF_PROCESSES = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
OF_GO_OPERATORS = "counter of the Go training operator"


def served() -> set[str]:
    names = set(OF_PROCESSES)
    for family in metrics_page.families():
        suffixes = ("_bucket", "_sum", "_count") if family.type == "histogram" else ("",)
        names |= {family.name + suffix for suffix in suffixes}
    return names


def expressions_of_the_dashboard() -> list[str]:
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def names(expressions: list[str]) -> set[str]:
    return {name for expression in expressions for name in NAME.findall(expression)}


@pytest.mark.parametrize(
    "expressions",
    [
        pytest.param(expressions_of_the_dashboard(), id="dashboard"),
        pytest.param([rule["expr"] for rule in RULES], id="alerts"),
    ],
)
def test_every_metric_that_is_queried_is_served(expressions: list[str]) -> None:
    found = names(expressions)

    assert found, "the expressions name metrics"
    assert found - served() == set()


def test_every_metric_of_our_own_is_on_the_dashboard() -> None:
    shown = names(expressions_of_the_dashboard())
    ours = [family for family in metrics_page.families() if OF_GO_OPERATORS not in family.help]

    assert [family.name for family in ours if not any(name.startswith(family.name) for name in shown)] == []


def test_every_label_that_is_queried_exists() -> None:
    labels = {label for family in metrics_page.families() for label in family.labels} | {"le", "pod", "job"}
    everything = " ".join([*expressions_of_the_dashboard(), *(rule["expr"] for rule in RULES)])
    grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", everything) for label in group.split(",")}
    selected = {label for chosen in re.findall(r"\{([^}]*)\}", everything) for label in re.findall(r"(\w+)=~?\"", chosen)}

    assert (grouped | selected) - labels == set()


def test_every_alert_is_tested_and_explained() -> None:
    tested = (ROOT / "tests" / "monitoring" / "alerts_test.yaml").read_text()
    explained = (ROOT / "docs" / "operating.md").read_text()

    assert len(RULES) == len({rule["alert"] for rule in RULES})
    for rule in RULES:
        assert tested.count(f"alertname: {rule['alert']}") >= 2, "once with the alert, once without"
        assert f"`{rule['alert']}`" in explained
        assert set(rule["annotations"]) == {"summary", "description"}
