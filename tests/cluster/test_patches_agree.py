"""Patches and server-side apply in Python, compared with the real API server.

TRAINCREW_FUZZ is how many sequences of writes are tried (200 if unset), TRAINCREW_FUZZ_SEED where to begin.
"""

from __future__ import annotations

import asyncio
import collections
import copy
import dataclasses
import email.utils
import json
import os
import pathlib
import random
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import yaml
from tests.apimachinery.patches import random_writes
from tests.apimachinery.patches.random_manifests import GENERATORS
from tests.apimachinery.patches.random_writes import APPLY, PUT, RandomWrite
from tests.cluster.api import Api, Object

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.resource_info import Schema
from traincrew.embedded.apiserver.schema import builtin_kinds

NUMBER = int(os.environ.get("TRAINCREW_FUZZ", "200"))
FIRST = int(os.environ.get("TRAINCREW_FUZZ_SEED", "0"))
LENGTH = 8
CONNECTIONS = 16
CRDS = pathlib.Path(__file__).parents[2] / "manifests" / "crds"

PLACES = {
    "ConfigMap": ("/api/v1", "configmaps"),
    "Service": ("/api/v1", "services"),
    "ReplicaSet": ("/apis/apps/v1", "replicasets"),
    "Pod": ("/api/v1", "pods"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "PyTorchJob": ("/apis/kubeflow.org/v1", "pytorchjobs"),
}
BEFORE = "before-first-apply"
OF_THE_SERVER = ("managedFields", "resourceVersion", "generation")


@dataclasses.dataclass(frozen=True)
class WriteResult:
    code: int
    body: Object
    now: str


class PatchedServer:
    """The real one."""

    def __init__(self, session: aiohttp.ClientSession, namespace: str) -> None:
        self._session, self._namespace = session, namespace

    async def write(self, kind: str, name: str, step: RandomWrite, dry: bool = False) -> WriteResult:
        verb = "PUT" if step.content == PUT else "PATCH"
        path = f"{self._collection(kind)}/{name}" + (f"/{step.subresource}" if step.subresource else "")
        query = {"fieldManager": step.manager} | ({"force": "true"} if step.force else {}) | ({"dryRun": "All"} if dry else {})
        return await self._call(verb, path, step.body, step.content, query)

    async def create(self, kind: str, body: Object) -> WriteResult:
        return await self._call("POST", self._collection(kind), body, PUT, {"fieldManager": "creator"})

    def _collection(self, kind: str) -> str:
        root, plural = PLACES[kind]
        return f"{root}/namespaces/{self._namespace}/{plural}"

    async def _call(self, verb: str, path: str, body: Any, content: str, query: dict[str, str]) -> WriteResult:
        headers = {"Content-Type": content, "User-Agent": "tests"}
        async with self._session.request(verb, path, data=json.dumps(body), headers=headers, params=query) as response:
            stamp = email.utils.parsedate_to_datetime(response.headers["Date"])
            return WriteResult(response.status, await response.json(), stamp.strftime("%Y-%m-%dT%H:%M:%SZ"))


@pytest.fixture
async def session(api: Api) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cafile=str(api.session.verify))
    assert isinstance(api.session.cert, tuple)
    context.load_cert_chain(*api.session.cert)
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=context)
    async with aiohttp.ClientSession(api.server, connector=connector) as found:
        yield found


@pytest.fixture(scope="module")
def schemas() -> dict[str, Schema]:
    known = builtin_kinds.load()
    found = {each.kind: each.schema for each in known.resources() if each.kind in PLACES}
    definition = yaml.safe_load((CRDS / "pytorchjobs.kubeflow.org.yaml").read_text())
    (version,) = definition["spec"]["versions"]
    return found | {"PyTorchJob": version["schema"]["openAPIV3Schema"]}


async def test_sequences_of_writes_end_in_the_same_objects_with_the_same_owners(
    session: aiohttp.ClientSession, namespace: str, schemas: dict[str, Schema], capsys: pytest.CaptureFixture[str]
) -> None:
    tally: collections.Counter[str] = collections.Counter()
    gate = asyncio.Semaphore(CONNECTIONS)

    async def one(seed: int) -> list[str]:
        async with gate:
            return await Sequence(PatchedServer(session, namespace), schemas, seed, tally).run()

    faults = [fault for found in await asyncio.gather(*map(one, range(FIRST, FIRST + NUMBER))) for fault in found]
    with capsys.disabled():
        print(f"\n{dict(sorted(tally.items()))}", end=" ")
    assert not faults, f"{len(faults)} disagreements; the first:\n{faults[0]}"
    assert tally["409"] > NUMBER / 4, "too few conflicts to show anything"
    assert tally["200"] > NUMBER * 2, "too few writes that went well"


class Sequence:
    def __init__(self, server: PatchedServer, schemas: dict[str, Schema], seed: int, tally: collections.Counter[str]) -> None:
        self._server, self._tally, self._seed = server, tally, seed
        self._rng = random.Random(seed)
        self._kind = self._rng.choice(list(GENERATORS))
        self._schema, self._name = schemas[self._kind], f"x{seed}"

    async def run(self) -> list[str]:
        body = random_writes.applied(
            self._rng, self._kind, PLACES[self._kind][0].removeprefix("/api/").removeprefix("/apis/"), self._name
        )
        if self._rng.random() < 0.3:
            return await self._created_by_apply(RandomWrite(APPLY, body, "creator"))
        answer = await self._server.create(self._kind, body)
        if answer.code != 201:
            return [f"not created: {answer.body}"]
        live = answer.body
        if self._rng.random() < 0.3:
            live = await self._forgotten(live)
        return await self._go_on(live)

    async def _created_by_apply(self, step: RandomWrite) -> list[str]:
        answer = await self._server.write(self._kind, self._name, step)
        ours = random_writes.patched_object(None, step, self._schema, random_writes.moment(step, answer.body, answer.now))
        if fault := unlike(ours["metadata"].get("managedFields"), answer.body["metadata"].get("managedFields")):
            return [f"seed {self._seed}\n{step}\n{fault}"]
        return await self._go_on(answer.body)

    async def _go_on(self, live: Object) -> list[str]:
        for _ in range(LENGTH):
            step = random_writes.step(self._rng, self._kind, live)
            answer = await self._server.write(self._kind, self._name, step)
            self._tally[str(answer.code)] += 1
            self._tally[f"{step.content.partition('/')[2]} {answer.code}"] += 1
            if fault := await self._fault(live, step, answer):
                return [f"seed {self._seed}\nlive: {shown(live)}\n{step}\nAPI server: {shown(answer.body)}\n{fault}"]
            live = answer.body if answer.code == 200 else live
        return []

    async def _forgotten(self, live: Object) -> Object:
        """As an object is whose owners were never kept."""
        step = RandomWrite(random_writes.MERGE, {"metadata": {"managedFields": [{}]}}, "creator")
        return (await self._server.write(self._kind, self._name, step)).body

    async def _fault(self, live: Object, step: RandomWrite, answer: WriteResult) -> str:
        before = copy.deepcopy(live)
        try:
            ours = random_writes.patched_object(live, step, self._schema, self._now(step, answer))
        except StatusError as rejection:
            if rejection.code == 400 and answer.code == 500:  # docs/compatibility.md; of several errors the real one reports any
                same = step.content == random_writes.STRATEGIC or rejection.message == answer.body["message"]
                return "" if same else unlike(rejection.message, answer.body["message"])
            return unlike(*map(sorted_causes, (rejection.status(), answer.body)))
        finally:
            assert live == before, "the live object was changed"
        named = (ours.get("metadata") or {}).get("name") == self._name
        if not named or (answer.code == 422 and answer.body["details"].get("causes")):
            return "" if answer.code in (400, 422) else shown(answer.body)  # validation is not what this is about
        if answer.code != 200:
            return f"we would have written {shown(ours)}"
        if step.content == APPLY:
            theirs = answer.body["metadata"].get("managedFields")
            fault = unlike(with_their_clock(ours["metadata"].get("managedFields"), theirs), theirs)
            return fault or await self._unlike_when_stored(ours, step, answer)
        fault = await self._unlike_when_stored(ours, step, answer) if step.content != PUT else ""
        return fault or self._owners_differ(live, step, answer, ours)

    def _now(self, step: RandomWrite, answer: WriteResult) -> str:
        return random_writes.moment(step, answer.body, answer.now) if answer.code == 200 else answer.now

    def _owners_differ(self, live: Object, step: RandomWrite, answer: WriteResult, ours: Object) -> str:
        # Owners are reported before the server resets what this endpoint may not write. Built-in kinds are not tried so.
        written = ours if step.subresource and self._kind == "PyTorchJob" else answer.body
        bare = {key: value for key, value in written["metadata"].items() if key != "managedFields"}
        given = {key: ours["metadata"][key] for key in ("managedFields",) if key in ours["metadata"]}
        found = random_writes.owners(live, written | {"metadata": bare | given}, step, self._schema, self._now(step, answer))
        return unlike(found, answer.body["metadata"].get("managedFields") or [])

    async def _unlike_when_stored(self, ours: Object, step: RandomWrite, answer: WriteResult) -> str:
        """Defaults and what else the server does to an object are not ours: it may do that to what we would write."""
        ours = bare(ours)
        if ours == bare(answer.body):
            return ""
        body = ours | {"metadata": {**ours["metadata"], "resourceVersion": answer.body["metadata"]["resourceVersion"]}}
        stored = await self._server.write(
            self._kind, self._name, RandomWrite(PUT, body, "tests", subresource=step.subresource), dry=True
        )
        return unlike(bare(stored.body) if stored.code == 200 else stored.body, bare(answer.body))


def with_their_clock(ours: list[Object] | None, theirs: list[Object] | None) -> list[Object] | None:
    """The real one reads the time of fields from before the first apply separately: it may be a second earlier."""
    first = next((each["time"] for each in theirs or [] if each["manager"] == BEFORE), "")
    return ours and [{**each, "time": min(each["time"], first)} if each["manager"] == BEFORE and first else each for each in ours]


def bare(document: Object) -> Object:
    return document | {"metadata": {key: value for key, value in document["metadata"].items() if key not in OF_THE_SERVER}}


def sorted_causes(status: Object) -> Object:
    """The real one reports conflicts in no order."""
    details = status.get("details") or {}
    if "causes" not in details:
        return status
    causes = sorted(details["causes"], key=lambda cause: (cause["message"], cause["field"]))
    return status | {"details": details | {"causes": causes}}


def unlike(ours: Any, theirs: Any) -> str:
    return "" if ours == theirs else f"ours:   {shown(ours)}\ntheirs: {shown(theirs)}"


def shown(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
