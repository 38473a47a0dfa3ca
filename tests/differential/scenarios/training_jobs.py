"""Training jobs, by the shipped CRDs: examples, defaults, rules, status, scale, tables."""

from __future__ import annotations

import copy
import pathlib
from typing import Any

import yaml
from tests.differential.bodies import PLURALS, TRAINING, training_job
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario
from tests.differential.scenarios.listing import TABLE

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"


@scenario("training")
def every_example_is_accepted(p: ScenarioClient) -> None:
    for file in sorted(EXAMPLES.rglob("*.yaml")):
        for body in yaml.safe_load_all(file.read_text()):
            if not isinstance(body, dict) or body.get("kind") not in PLURALS:
                continue
            body["metadata"]["namespace"] = p.namespace
            for how in ("Strict", "Warn"):
                p.create(PLURALS[body["kind"]], body, dryRun="All", fieldValidation=how)


@scenario("training")
def lifecycle_of_jobs_of_every_kind(p: ScenarioClient) -> None:
    for kind, plural in PLURALS.items():
        job = p.create(plural, training_job(kind, "j")).object
        p.read(plural, "j")
        p.read(plural, "j", "scale")
        job["metadata"].setdefault("labels", {})["a"] = "b"
        p.replace(plural, "j", job)
        p.replace(plural, "j", job)
        condition = {
            "type": "Running",
            "status": "True",
            "reason": "R",
            "message": "m",
            "lastTransitionTime": "2001-01-01T00:00:00Z",
        }
        status = {"conditions": [condition], "replicaStatuses": {"Worker": {"active": 1}}, "startTime": "2001-01-01T00:00:00Z"}
        p.patch("merge", plural, "j", {"status": status}, "status")
        p.patch("merge", plural, "j", {"status": {"conditions": "text"}}, "status")
        p.patch("merge", plural, "j", {"spec": {"replicas": 3}}, "scale")
        p.read(plural, "j", "scale")
        p.send("GET", p.path(plural), None, TABLE)
        p.delete(plural, "j")


def invalid_job(kind: str, *path: str | int, value: Any = None) -> dict[str, Any]:
    """A job with one changed field. Without a value, the field is removed."""
    body: Any = copy.deepcopy(training_job(kind, "wrong"))
    inner = body
    for key in path[:-1]:
        inner = inner[key]
    if value is None:
        inner.pop(path[-1])
    else:
        inner[path[-1]] = value
    return dict(body)


@scenario("training")
def invalid_jobs(p: ScenarioClient) -> None:
    for kind, (field, _, roles) in TRAINING.items():
        at: tuple[str | int, ...] = ("spec", field, roles[-1])
        invalid = [
            invalid_job(kind, "spec"), invalid_job(kind, "spec", field), invalid_job(kind, "spec", field, value={}),
            invalid_job(kind, "spec", field, value="text"), invalid_job(kind, *at, "replicas", value=-1),
            invalid_job(kind, *at, "replicas", value="two"), invalid_job(kind, *at, "template"),
            invalid_job(kind, *at, "restartPolicy", value="Sometimes"),
            invalid_job(kind, *at, "template", "spec", "containers", value=[]),
            invalid_job(kind, *at, "template", "spec", "containers", 0, "name", value="other"),
            invalid_job(kind, *at, "template", "spec", "containers", 0, "image"),
            invalid_job(kind, "spec", field, "Nobody", value={"replicas": 1}),
            invalid_job(kind, "spec", "runPolicy", "cleanPodPolicy", value="Perhaps"),
            invalid_job(kind, "spec", "runPolicy", "managedBy", value="somebody"),
            invalid_job(kind, "spec", "runPolicy", "backoffLimit", value="x"),
            invalid_job(kind, "spec", "runPolicy", "ttlSecondsAfterFinished", value=-5),
            invalid_job(kind, "metadata", "name", value="Upper_Case"), invalid_job(kind, "metadata", "name", value="x" * 80),
            invalid_job(kind, "spec", "colour", value="red"), invalid_job(kind, *at, "template", "spec", "colour", value="red"),
            invalid_job(kind, *at, "template", "spec", "containers", 0, "ports", value=[{"containerPort": "x"}]),
            invalid_job(kind, *at, "template", "spec", "containers", 0, "env", value=[{"name": "A", "value": 1}]),
        ]  # fmt: skip
        for body in invalid:
            p.create(PLURALS[kind], body, dryRun="All")
        for body in invalid[-4:-2]:
            p.create(PLURALS[kind], body, dryRun="All", fieldValidation="Strict")


@scenario("training")
def immutable_fields_of_jobs(p: ScenarioClient) -> None:
    for kind, (field, _, roles) in TRAINING.items():
        plural = PLURALS[kind]
        p.create(plural, training_job(kind, "j"))
        for spec in (
            {"runPolicy": {"managedBy": "kubeflow.org/training-operator"}},
            {"runPolicy": {"suspend": True}},
            {field: {roles[-1]: {"replicas": 4}}},
            {field: {roles[-1]: None}},
            {field: {roles[-1]: {"template": {"spec": {"containers": [{"name": "x", "image": "y"}]}}}}},
            {field: None},
        ):
            p.patch("merge", plural, "j", {"spec": spec})
        p.delete(plural, "j")


@scenario("training")
def mpi_jobs_in_both_versions(p: ScenarioClient) -> None:
    beta = f"/apis/kubeflow.org/v2beta1/namespaces/{p.namespace}/mpijobs"
    old = training_job("MPIJob", "old")
    new = {**copy.deepcopy(training_job("MPIJob", "new")), "apiVersion": "kubeflow.org/v2beta1"}
    new["spec"]["sshAuthMountPath"] = "/root/.ssh"
    p.create("mpijobs", old)
    p.send("POST", beta, new)
    p.send("GET", beta)
    p.list("mpijobs")
    p.send("GET", f"{beta}/old")
    p.read("mpijobs", "new")
    p.send("GET", beta, None, TABLE)
    p.send("POST", beta, {**old, "metadata": {"name": "x"}})
