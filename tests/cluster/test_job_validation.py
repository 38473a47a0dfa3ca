"""Validation in Python, compared with the real API server on thousands of damaged manifests.

TRAINCREW_FUZZ_MANIFESTS is how many (2,000 if unset; `make test-agreement` tries 10,000), TRAINCREW_FUZZ_SEED where to begin; the
same numbers give the same manifests.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import json
import os
import ssl
from collections.abc import AsyncIterator, Iterable
from typing import Any

import aiohttp
import pytest
from tests.cluster.api import Api
from tests.validation import mutations
from tools.kube import cluster

from traincrew.apimachinery import yaml_documents
from traincrew.validation import job_review

NUMBER = int(os.environ.get("TRAINCREW_FUZZ_MANIFESTS", "2000"))
FIRST = int(os.environ.get("TRAINCREW_FUZZ_SEED", "0"))
CONNECTIONS = 64


@dataclasses.dataclass(frozen=True)
class Posting:
    seed: int
    verb: str
    path: str
    text: str
    accepted: bool
    """Our verdict."""
    spec: Any
    """The spec as we say it is stored."""
    messages: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Disagreement:
    posting: Posting
    code: int
    message: str

    def __str__(self) -> str:
        ours = "accepted" if self.posting.accepted else f"refused: {'; '.join(self.posting.messages)}"
        return f"seed {self.posting.seed}\nAPI server: {self.code} {self.message}\nadmission: {ours}\n{self.posting.text}"


@pytest.fixture
async def session(api: Api) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cafile=str(api.session.verify))
    if isinstance(api.session.cert, tuple):
        context.load_cert_chain(*api.session.cert)
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=context)
    credentials = {name: value for name, value in api.session.headers.items() if name == "Authorization"}
    async with aiohttp.ClientSession(api.server, connector=connector, headers=credentials) as found:
        yield found


async def test_every_fuzzed_manifest_gets_the_same_result(
    api: Api, session: aiohttp.ClientSession, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    postings = (created(api, namespace, seed) for seed in range(FIRST, FIRST + NUMBER))
    verdicts, disagreements = await compared(session, postings)
    with capsys.disabled():
        print(f"\n{verdicts.total()} manifests: {verdicts[True]} accepted, {verdicts[False]} refused by both", end=" ")
    assert not disagreements, f"{len(disagreements)} disagreements; the smallest:\n{smallest(disagreements)}"
    assert min(verdicts[True], verdicts[False]) > NUMBER / 5, "the damage is too light or too heavy to show anything"


def created(api: Api, namespace: str, seed: int) -> Posting:
    text = json.dumps(mutations.manifest(seed))
    strict = seed % 3 == 0  # kubectl asks for that
    found = job_review.review(json.loads(text))
    version = json.loads(text)["apiVersion"].rpartition("/")[2]
    path = api.path(found.kind.plural, namespace, version=version) + "?dryRun=All"
    return posting(seed, "POST", path + ("&fieldValidation=Strict" if strict else ""), text, found)


def posting(seed: int, verb: str, path: str, text: str, found: job_review.ReviewResult) -> Posting:
    refusing = [*found.errors, *(found.unknown if "Strict" in path else ())]
    return Posting(seed, verb, path, text, not refusing, found.document.get("spec"), tuple(map(str, refusing)))


async def compared(
    session: aiohttp.ClientSession, postings: Iterable[Posting]
) -> tuple[collections.Counter[bool], list[Disagreement]]:
    verdicts: collections.Counter[bool] = collections.Counter()
    disagreements: list[Disagreement] = []
    waiting = iter(postings)

    async def send() -> None:
        for one in waiting:
            headers = {"Content-Type": "application/json"}
            async with session.request(one.verb, one.path, data=one.text, headers=headers) as response:
                body = await response.json()
            verdict = {200: True, 201: True, 400: False, 422: False}.get(response.status)
            if verdict is not one.accepted:
                disagreements.append(Disagreement(one, response.status, str(body.get("message"))))
            elif verdict and same(body.get("spec")) != same(one.spec):
                disagreements.append(Disagreement(one, response.status, f"stores {json.dumps(body['spec'])}"))
            else:
                verdicts[verdict] += 1

    await asyncio.gather(*(send() for _ in range(CONNECTIONS)))
    return verdicts, disagreements


def same(value: Any) -> Any:
    """Equal for what is equal in JSON, where 2 and 2.0 are one number."""
    if isinstance(value, dict):
        return {key: same(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [same(inner) for inner in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def smallest(disagreements: list[Disagreement]) -> Disagreement:
    return min(disagreements, key=lambda one: len(one.posting.text))


WORDS = (
    "5", "-5", "+5", "1_000", "0x1F", "0o17", "017", "0b101", "08", "1.5", ".5", "5.", "1e3", "1E-2", "-.5", "+1.5", "_1", "1__0",
    "18446744073709551615", "18446744073709551616", "-9223372036854775809", "yes", "Yes", "yEs", "on", "On", "y", "Y", "no", "NO",
    "off", "n", "true", "True", "~", "null", "Null", "nULL", "1:30", "2024-01-01", "2024-1-1", "2024-01-01T00:00:00Z",
    "2024-01-01 10:00:00", ".", "..", "1Gi", "1.2.3", "=", "é", "0", "00", "0x", "0b2", "1e", "e1", "+", "''", "'5'", '"yes"',
    "!!str 5", "[]", "{}", "[1, yes]", "{a: 1, 5: b, yes: c, 1.5: d, ~a: e}",
)  # fmt: skip


def test_yaml_is_read_as_kubectl_reads_it(kube: cluster.Cluster, api: Api) -> None:
    fields = "\n".join(f"  w{index}: {word}" for index, word in enumerate(WORDS))
    text = f"apiVersion: kubeflow.org/v1\nkind: JAXJob\nmetadata:\n  name: j\nspec:\n{fields}\n"
    printed = kube.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", input=text)
    assert printed.returncode == 0, printed.stderr
    (document,) = yaml_documents.parse(text)
    assert isinstance(document, yaml_documents.Document)
    assert same(document.value["spec"]) == same(json.loads(printed.stdout)["spec"])
