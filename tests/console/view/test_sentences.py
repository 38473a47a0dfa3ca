"""Every sentence of the server that people read has its Chinese in the catalogue of the page."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import pathlib
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from traincrew import errors
from traincrew.console import (
    cluster_queries,
    handlers,
    history_handlers,
    job_actions,
    log_requests,
    object_queries,
    recorded_jobs,
    recording_handlers,
    simulation,
    usage_sampler,
)
from traincrew.console.contract.problems import MissingRight
from traincrew.console.sign_in import LinkAuthenticator, ProxyAuthenticator, TokenAuthenticator
from traincrew.console.stream import metrics_topic
from traincrew.console.view import job_details, job_pods, problems, scheduling_fit, series
from traincrew.diagnosis import cause, exit_codes
from traincrew.diagnosis.recognizers import RECOGNIZERS
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.inspection import advice, scaling_advice, waiting_advice
from traincrew.model.status import Failure
from traincrew.validation import manifest_review

FILE = pathlib.Path(__file__).parents[3] / "web" / "src" / "i18n" / "sentences.zh-CN.json"
CATALOGUE: dict[str, str] = json.loads(FILE.read_text())
NAME = re.compile(r"\\?\{(\w+)\\?\}")


def pattern(template: str) -> re.Pattern[str]:
    return re.compile(NAME.sub("(.+?)", re.escape(template)), re.DOTALL)


PATTERNS = [pattern(template) for template in CATALOGUE]


def templates() -> Iterator[str]:
    """Those of the tables. A template of nothing but values, such as `{type}: {message}`, has no words to translate."""
    for recognizer in RECOGNIZERS:
        yield from (recognizer.advice, recognizer.cause)
    for remedies in waiting_advice.BY_REASON.values():
        yield from (remedies.default, *(each.remedy for each in remedies.by_message))
    yield from scaling_advice.BY_REASON.values()
    for _, remedy in exit_codes.START_ERRORS:
        yield remedy
    yield from problems.NEXT_STEPS.values()


ROUTES = (*handlers.ROUTES, *history_handlers.ROUTES, *recording_handlers.ROUTES)


@pytest.mark.parametrize("tried", sorted({each.tried for each in ROUTES}))
def test_what_a_request_tried_is_in_the_catalogue(tried: str) -> None:
    sentence = tried.format("pytorchjob/mnist in namespace default")
    assert any(each.fullmatch(sentence) for each in PATTERNS)


def words(template: str) -> str:
    return re.sub(r"\{\w+\}|[A-Z]{2,}|\W", "", template)


@pytest.mark.parametrize("template", sorted({each for each in templates() if words(each)}))
def test_a_template_of_the_server_is_in_the_catalogue(template: str) -> None:
    assert template in CATALOGUE


def ends() -> Iterator[ReplicaEnd]:
    for code in (1, 126, 127, *(128 + number for number in (1, 2, 4, 6, 7, 8, 9, 11, 15))):
        yield ReplicaEnd(replica="Worker 1", exit_code=code)
        yield ReplicaEnd(replica="Worker 1", exit_code=code, signal=0)
    yield ReplicaEnd(replica="Worker 1", exit_code=3, silent=True)
    for reason in exit_codes.REASONS:
        yield ReplicaEnd(replica="Worker 1", exit_code=1, reason=reason)
        yield ReplicaEnd(replica="Worker 1", exit_code=1, reason=reason, container="main", memory_limit="1Gi")
        yield ReplicaEnd(replica="Worker 1", exit_code=1, reason=reason, container="main", output="no such file")


def spoken() -> Iterator[str]:
    """Sentences as the server sends them."""
    for end in ends():
        found = cause.examine(end)
        yield found.advice
        if found.recognizer != cause.UNKNOWN:
            yield found.cause
    yield cause.SILENT
    yield advice.on_hang("pytorchjob/a")
    yield advice.on_unfinished("pytorchjob/a")
    yield advice.on_restarts("pytorchjob/a", "worker-1")
    yield advice.on_failure(Failure(disruption=True), None)
    yield waiting_advice.on_waiting("", "something else", "mpijob/a")
    yield waiting_advice.on_waiting(
        "CreateContainerConfigError", "user 5 (runAsUser) may not use /a: Run `chmod o+x /a`", "mpijob/a"
    )
    yield cluster_queries.NO_QUEUES
    yield job_details.DELETED
    for authenticator in (LinkAuthenticator, ProxyAuthenticator, TokenAuthenticator):
        yield authenticator.next_step
    yield problems.of(ValueError("x"), "").message
    yield problems.of(ValueError("x"), "").next_step
    yield problems.of(errors.Unreachable("x"), "").next_step
    for namespace in ("", "team"):
        yield problems.rights_step(MissingRight(verb="create", resource="pods", subresource="exec", namespace=namespace))


@pytest.mark.parametrize("sentence", sorted(set(filter(None, spoken()))))
def test_a_sentence_of_the_server_fits_a_template(sentence: str) -> None:
    assert any(each.fullmatch(sentence) for each in PATTERNS)


MODULES = (
    *(job_actions, log_requests, object_queries, simulation),
    *(metrics_topic, job_pods, scheduling_fit, series),
)
RAISED = {"SettingsError", "ManifestError", "NoJob", "Conflict", "_result"}
"""Calls with a sentence for the user."""


def written(node: ast.expr) -> list[str]:
    """The sentences that an expression can make, with a job in place of values."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.IfExp):
        return [*written(node.body), *written(node.orelse)]
    if isinstance(node, ast.JoinedStr):
        return ["".join(parts) for parts in itertools.product(*map(written, node.values))]
    if isinstance(node, ast.FormattedValue):
        return written(node.value) if isinstance(node.value, ast.IfExp) else ["pytorchjob/a"]
    return []


def sentences_of(module: ModuleType) -> Iterator[str]:
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in RAISED and node.args:
                yield from written(node.args[-1])
        if isinstance(node, ast.Assign | ast.Return) and isinstance(node.value, ast.JoinedStr | ast.IfExp):
            names = {each.id for each in getattr(node, "targets", ()) if isinstance(each, ast.Name)}
            if names == {"message"} or module is scheduling_fit:
                yield from (each for each in written(node.value) if " " in each)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_what_an_action_or_a_request_answers_is_in_the_catalogue(module: ModuleType) -> None:
    found = sorted(set(sentences_of(module)))
    assert found
    assert [each for each in found if not any(pattern.fullmatch(each) for pattern in PATTERNS)] == []


MANIFESTS = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: Not-A-Name}
spec:
  runPolicy: {cleanPodPolicy: Some, backoffLimt: 3, ttlSecondsAfterFinished: soon}
  tfReplicaSpecs:
    Worker: {replicas: -1, template: {spec: {containers: [{name: other, resources: {limits: {cpu: many}}}]}}}
    Wroker: {replicas: 0, template: {spec: {containers: []}}}
---
apiVersion: kubeflow.org/v7
kind: MPIJob
metadata: {name: a}
---
- nothing
"""


def test_findings_of_the_dry_run_are_in_the_catalogue() -> None:
    found = {each.message for each in manifest_review.review(MANIFESTS).findings} | {
        each.message for each in manifest_review.review("").findings
    }
    assert len(found) > 8, found
    assert [each for each in sorted(found) if not any(pattern.fullmatch(each) for pattern in PATTERNS)] == []


@pytest.mark.parametrize("sentence", [usage_sampler.NO_SERVER, recorded_jobs.NO_SAMPLES])
def test_why_there_are_no_metrics_is_in_the_catalogue(sentence: str) -> None:
    assert sentence in CATALOGUE
