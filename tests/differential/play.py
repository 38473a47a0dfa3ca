"""A scenario's hand on one server: it sends requests and keeps what came back, to be compared with the other server's."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import time
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from tests.differential import resources
from tests.differential.target import Answer, Request, Target, answer, kept, start
from tests.differential.tokens import Tokens
from tests.differential.watching import Watch

STAGED = 5.0  # seconds for what is in every namespace
SETTLED = 45.0  # seconds for what a server does in the background
NOT_YET = "storage is (re)initializing"
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
Body = Mapping[str, Any] | list[Any] | str | bytes | None


@dataclasses.dataclass(frozen=True)
class Step:
    request: str
    seen: Any
    """Status, headers and body of the answer, or the events of a watch, with tokens in them."""


class Play:
    def __init__(self, target: Target, case: str, run: str) -> None:
        self.target = target
        self.case = case
        self.namespace = f"{resources.slug(case)}-{run}"
        self.steps: list[Step] = []
        self.speaker: tuple[tuple[str, str], ...] = ()
        """Headers that say who is asking; empty: the administrator."""
        self._tokens = Tokens(f"{target.host}:{target.port}")
        self._connection: http.client.HTTPSConnection | None = None

    def name(self, text: str) -> str:
        """A name that no other scenario uses, for what is in no namespace."""
        return f"{self.namespace}-{text}"

    def path(self, resource: str, name: str = "", sub: str = "", everywhere: bool = False) -> str:
        return resources.path(resource, "" if everywhere else self.namespace, name, sub)

    def create(self, resource: str, body: Body, name: str = "", sub: str = "", **query: Any) -> Answer:
        return self.send("POST", self.path(resource, name, sub), body, **query)

    def read(self, resource: str, name: str, sub: str = "", **query: Any) -> Answer:
        return self.send("GET", self.path(resource, name, sub), **query)

    def list(self, resource: str, everywhere: bool = False, **query: Any) -> Answer:
        return self.send("GET", self.path(resource, everywhere=everywhere), **query)

    def continued(self, token: str, resource: str, everywhere: bool = False, **query: Any) -> Answer:
        return self.list(resource, everywhere, **query, **{"continue": token})

    def next_page(self, page: Answer, resource: str, everywhere: bool = False, **query: Any) -> Answer:
        return self.continued(page.at("metadata.continue"), resource, everywhere, **query)

    def replace(self, resource: str, name: str, body: Body, sub: str = "", **query: Any) -> Answer:
        return self.send("PUT", self.path(resource, name, sub), body, **query)

    def patch(self, how: str, resource: str, name: str, body: Body, sub: str = "", **query: Any) -> Answer:
        """`how` is json, merge, strategic or apply."""
        return self.send("PATCH", self.path(resource, name, sub), body, {"Content-Type": PATCHES.get(how, how)}, **query)

    def delete(self, resource: str, name: str = "", body: Body = None, **query: Any) -> Answer:
        """Of the whole collection, if there is no name."""
        return self.send("DELETE", self.path(resource, name), body, **query)

    def send(self, method: str, path: str, body: Body = None, headers: Mapping[str, str] | None = None, **query: Any) -> Answer:
        keep = query.pop("keep", lambda body: body)
        request = self._request(method, path, body, headers or {}, query)
        if isinstance(body, dict) and isinstance(body.get("metadata"), dict) and body["metadata"].get("generateName"):
            self._tokens.expect_generated(body["metadata"]["generateName"])
        found = self._exchange(request)
        seen = {"status": found.status, "header": found.headers, "body": keep(found.body)}
        self._note(request, {**seen, "indented": found.indented} if "pretty" in query else seen)
        return found

    def until(self, settled: Callable[[Answer], bool], path: str, body: Body = None, **query: Any) -> Answer:
        """Reads (or, with a body, posts) again and again until it is as wished; the last answer alone is kept."""
        headers = {"Accept": query.pop("accept")} if "accept" in query else {}
        request = self._request("GET" if body is None else "POST", path, body, headers, query)
        deadline = time.monotonic() + SETTLED
        while not settled(found := self._exchange(request)) and time.monotonic() < deadline:
            time.sleep(0.03)
        self._note(request, {"status": found.status, "header": found.headers, "body": found.body})
        return found

    def gone(self, resource: str, name: str) -> Answer:
        return self.until(lambda found: found.status == 404, self.path(resource, name))

    @contextlib.contextmanager
    def watch(self, resource: str, name: str = "", everywhere: bool = False, headers: Any = None, **query: Any) -> Any:
        """Yields a Watch; what it has read is kept when the block ends."""
        path = self.path(resource, name, everywhere=everywhere)
        request = self._request("GET", path, None, headers or {}, {"watch": "true", **query})
        with contextlib.closing(self.target.connect(bool(self.speaker))) as connection:
            response = start(connection, self.target, request)
            watch = Watch(response)
            yield watch
        seen = {"status": response.status, "header": kept(response)}
        self._note(request, {**seen, "events": watch.events} if response.status == 200 else {**seen, "body": watch.refusal})

    def close(self) -> None:
        if self._connection:
            self._connection.close()

    def speak_as(self, token: str) -> None:
        """From now on as a bearer of this token, without the administrator's certificate; `` is nobody."""
        self.close()
        self._connection = None
        self.speaker = (("Authorization", f"Bearer {token}"),) if token else (("Authorization", ""),)

    def speak_as_administrator(self) -> None:
        self.close()
        self._connection, self.speaker = None, ()

    def settle(self, path: str) -> None:
        """Waits until it is there; not being there in the end shows in what follows."""
        deadline = time.monotonic() + STAGED
        while self.prepare("GET", path).status != 200 and time.monotonic() < deadline:
            time.sleep(0.03)

    def prepare(self, method: str, path: str, body: Body = None) -> Answer:
        """Sends what is no part of the comparison."""
        return self._exchange(self._request(method, path, body, {}, {}))

    def _request(self, method: str, path: str, body: Body, headers: Mapping[str, str], query: Mapping[str, Any]) -> Request:
        if query := {name: value for name, value in query.items() if value is not None}:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode(query)
        sent = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else None
        if sent is None and body is not None:
            sent = json.dumps(body).encode()
        given = {"Accept": "application/json", **dict(self.speaker), **headers}
        if sent is not None:
            given.setdefault("Content-Type", "application/json")
        kept = tuple((name, value) for name, value in given.items() if value)
        return Request(method, path, sent, kept, bool(self.speaker))

    def _exchange(self, request: Request) -> Answer:
        try:
            return self._once(request)
        except (http.client.HTTPException, OSError) as error:
            self.close()
            self._connection = None
            return Answer(0, {}, f"no answer: {type(error).__name__}: {error}")

    def _once(self, request: Request) -> Answer:
        if self._connection is None:
            self._connection = self.target.connect(bool(self.speaker))
        deadline = time.monotonic() + SETTLED
        # The real server says this for a moment after a CRD was made, and any client asks again.
        while (found := answer(start(self._connection, self.target, request))).at("message") == NOT_YET:
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        return found

    def _note(self, request: Request, seen: Mapping[str, Any]) -> None:
        shown = self._tokens.request(f"{request.method} {urllib.parse.unquote(request.path)}")
        self.steps.append(Step(shown, self._tokens.normal(dict(seen))))
