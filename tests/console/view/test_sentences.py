"""Every sentence of the server that people read has its Chinese in the catalogue of the page."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterator

import pytest

from traincrew import errors
from traincrew.console import cluster_queries, handlers, history_handlers, recording_handlers
from traincrew.console.contract.problems import MissingRight
from traincrew.console.sign_in import LinkAuthenticator, ProxyAuthenticator, TokenAuthenticator
from traincrew.console.view import job_details, problems
from traincrew.diagnosis import cause, exit_codes
from traincrew.diagnosis.recognizers import RECOGNIZERS
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.inspection import advice, waiting_advice
from traincrew.model.status import Failure

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
