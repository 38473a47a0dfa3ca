"""The client of one scenario on one server: sends requests and records the responses, to compare them with the other server's."""

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
from tests.differential.target import Request, Response, Target, compared_headers, read_response, start
from tests.differential.tokens import Tokens
from tests.differential.watch_stream import Watch

NAMESPACE_TIMEOUT = 5.0  # seconds until a new namespace has its default objects
BACKGROUND_TIMEOUT = 45.0  # seconds for the work of controllers
NOT_YET = "storage is (re)initializing"
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
Body = Mapping[str, Any] | list[Any] | str | bytes | None


@dataclasses.dataclass(frozen=True)
class ScenarioStep:
    request: str
    seen: Any
    """Status, headers and body of the response, or the events of a watch, with tokens in place of variable values."""


class ScenarioClient:
    def __init__(self, target: Target, case: str, run: str) -> None:
        self.target = target
        self.case = case
        self.namespace = f"{resources.slug(case)}-{run}"
        self.steps: list[ScenarioStep] = []
        self.credentials: tuple[tuple[str, str], ...] = ()
        """Headers that authenticate the client; empty: the administrator."""
        self._tokens = Tokens(f"{target.host}:{target.port}")
        self._connection: http.client.HTTPSConnection | None = None

    def name(self, text: str) -> str:
        """A name for a cluster-scoped object that no other scenario uses."""
        return f"{self.namespace}-{text}"

    def path(self, resource: str, name: str = "", sub: str = "", everywhere: bool = False) -> str:
        return resources.path(resource, "" if everywhere else self.namespace, name, sub)

    def create(self, resource: str, body: Body, name: str = "", sub: str = "", **query: Any) -> Response:
        return self.send("POST", self.path(resource, name, sub), body, **query)

    def read(self, resource: str, name: str, sub: str = "", **query: Any) -> Response:
        return self.send("GET", self.path(resource, name, sub), **query)

    def list(self, resource: str, everywhere: bool = False, **query: Any) -> Response:
        return self.send("GET", self.path(resource, everywhere=everywhere), **query)

    def continued(self, token: str, resource: str, everywhere: bool = False, **query: Any) -> Response:
        return self.list(resource, everywhere, **query, **{"continue": token})

    def next_page(self, page: Response, resource: str, everywhere: bool = False, **query: Any) -> Response:
        return self.continued(page.at("metadata.continue"), resource, everywhere, **query)

    def replace(self, resource: str, name: str, body: Body, sub: str = "", **query: Any) -> Response:
        return self.send("PUT", self.path(resource, name, sub), body, **query)

    def patch(self, how: str, resource: str, name: str, body: Body, sub: str = "", **query: Any) -> Response:
        """`how` is json, merge, strategic or apply."""
        return self.send("PATCH", self.path(resource, name, sub), body, {"Content-Type": PATCHES.get(how, how)}, **query)

    def delete(self, resource: str, name: str = "", body: Body = None, **query: Any) -> Response:
        """Deletes the whole collection if there is no name."""
        return self.send("DELETE", self.path(resource, name), body, **query)

    def send(self, method: str, path: str, body: Body = None, headers: Mapping[str, str] | None = None, **query: Any) -> Response:
        keep = query.pop("keep", lambda body: body)
        request = self._request(method, path, body, headers or {}, query)
        if isinstance(body, dict) and isinstance(body.get("metadata"), dict) and body["metadata"].get("generateName"):
            self._tokens.expect_generated(body["metadata"]["generateName"])
        response = self._exchange(request)
        seen = {"status": response.status, "header": response.headers, "body": keep(response.body), "newline": response.newline}
        self._record(request, {**seen, "indented": response.indented} if "pretty" in query else seen)
        return response

    def until(self, condition: Callable[[Response], bool], path: str, body: Body = None, **query: Any) -> Response:
        """Reads (or, with a body, posts) until the condition is met. Only the last response is recorded."""
        headers = {"Accept": query.pop("accept")} if "accept" in query else {}
        request = self._request("GET" if body is None else "POST", path, body, headers, query)
        deadline = time.monotonic() + BACKGROUND_TIMEOUT
        while not condition(response := self._exchange(request)) and time.monotonic() < deadline:
            time.sleep(0.03)
        self._record(request, {"status": response.status, "header": response.headers, "body": response.body})
        return response

    def gone(self, resource: str, name: str) -> Response:
        return self.until(lambda response: response.status == 404, self.path(resource, name))

    @contextlib.contextmanager
    def watch(self, resource: str, name: str = "", everywhere: bool = False, headers: Any = None, **query: Any) -> Any:
        """Yields a Watch. Its events are recorded when the block ends."""
        path = self.path(resource, name, everywhere=everywhere)
        request = self._request("GET", path, None, headers or {}, {"watch": "true", **query})
        with contextlib.closing(self.target.connect(bool(self.credentials))) as connection:
            response = start(connection, self.target, request)
            watch = Watch(response)
            yield watch
        seen = {"status": response.status, "header": compared_headers(response)}
        self._record(request, {**seen, "events": watch.events} if response.status == 200 else {**seen, "body": watch.error})

    def close(self) -> None:
        if self._connection:
            self._connection.close()

    def use_token(self, token: str) -> None:
        """Authenticates with this token from now on, without the administrator's certificate; an empty one is anonymous."""
        self.close()
        self._connection = None
        self.credentials = (("Authorization", f"Bearer {token}"),) if token else (("Authorization", ""),)

    def use_administrator(self) -> None:
        self.close()
        self._connection, self.credentials = None, ()

    def wait_for(self, path: str) -> None:
        """Waits until the object exists. If it does not, the following responses differ."""
        deadline = time.monotonic() + NAMESPACE_TIMEOUT
        while self.prepare("GET", path).status != 200 and time.monotonic() < deadline:
            time.sleep(0.03)

    def prepare(self, method: str, path: str, body: Body = None) -> Response:
        """Sends a request that is not compared."""
        return self._exchange(self._request(method, path, body, {}, {}))

    def _request(self, method: str, path: str, body: Body, headers: Mapping[str, str], query: Mapping[str, Any]) -> Request:
        if query := {name: value for name, value in query.items() if value is not None}:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode(query)
        sent = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else None
        if sent is None and body is not None:
            sent = json.dumps(body).encode()
        given = {"Accept": "application/json", **dict(self.credentials), **headers}
        if sent is not None:
            given.setdefault("Content-Type", "application/json")
        sent_headers = tuple((name, value) for name, value in given.items() if value)
        return Request(method, path, sent, sent_headers, bool(self.credentials))

    def _exchange(self, request: Request) -> Response:
        try:
            return self._once(request)
        except (http.client.HTTPException, OSError) as error:
            self.close()
            self._connection = None
            return Response(0, {}, f"no response: {type(error).__name__}: {error}")

    def _once(self, request: Request) -> Response:
        if self._connection is None:
            self._connection = self.target.connect(bool(self.credentials))
        deadline = time.monotonic() + BACKGROUND_TIMEOUT
        # The real server returns this for a moment after a CRD was created. Every client retries.
        while (response := read_response(start(self._connection, self.target, request))).at("message") == NOT_YET:
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        return response

    def _record(self, request: Request, seen: Mapping[str, Any]) -> None:
        shown = self._tokens.request(f"{request.method} {urllib.parse.unquote(request.path)}")
        self.steps.append(ScenarioStep(shown, self._tokens.normalize(dict(seen))))
