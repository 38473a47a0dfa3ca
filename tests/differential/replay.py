"""Replays a recording on one server, with that server's own uids, versions and generated names in its requests."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import threading
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

from tests.differential import recording
from tests.differential.recording import RecordedEntry
from tests.differential.scenario_client import ScenarioClient, ScenarioStep
from tests.differential.scenarios.discovery import keys
from tests.differential.target import Request, Response, Target, start
from tests.differential.watch_stream import Watch, object_name

QUIET = 1.0  # seconds without an event: then the watch is complete
IN_BACKGROUND = {"orphan", "foregroundDeletion"}  # finalizers that the garbage collector removes
PROTOBUF = "application/vnd.kubernetes.protobuf,"
LONGEST = 120.0  # seconds that a watch may be without events
DOCUMENT = re.compile(r"/api|/apis|/version/?|/openapi/.*|/api/v1|/apis/[^/]+(/v[^/]+)?")
VERSIONS = (
    re.compile(r"(?<=[?&]resourceVersion=)\d+"),
    re.compile(r'(?<="resourceVersion":")\d+(?=")'),
    re.compile(r'(?<="path":"/metadata/resourceVersion","value":")\d+(?=")'),
)


class Translation:
    """Maps recorded identifiers to those of this server."""

    def __init__(self, namespace: str) -> None:
        self._texts = {recording.NAMESPACE: namespace}
        self._versions: dict[int, str] = {}

    def learn(self, entry: RecordedEntry, response: Response) -> None:
        own_identifiers = recording.identifiers(response.body)
        for path, value in entry.marks.items():
            own = own_identifiers.get(self.text(path))
            if own is None:
                continue
            if path.endswith("/resourceVersion"):
                self._versions[int(value)] = own
            elif len(value) > 3:  # shorter values are not unique enough to be replaced everywhere
                self._texts[value] = own

    def text(self, text: str) -> str:
        for recorded, own in self._texts.items():
            text = text.replace(recorded, own)
        for pattern in VERSIONS:
            text = pattern.sub(lambda match: self._version(match.group()), text)
        return text

    def _version(self, recorded: str) -> str:
        """A version that only a watch has reported is later than the last known one."""
        number = int(recorded)
        known = max((each for each in self._versions if each <= number), default=None)
        return recorded if number == 0 or known is None else self._versions[known]


class ScenarioReplay(ScenarioClient):
    def __init__(self, target: Target, name: str, run: str) -> None:
        super().__init__(target, name, run)
        # As long as the recorded name: protobuf bodies hold the lengths of their strings.
        self.namespace = f"{recording.NAMESPACE.partition('-')[0]}-{run}"
        assert len(self.namespace) == len(recording.NAMESPACE), self.namespace
        self._translation = Translation(self.namespace)
        self._watches: list[tuple[RecordedEntry, Watching]] = []
        self._owned: dict[str, list[str]] = {}

    def run(self, entries: list[RecordedEntry]) -> list[ScenarioStep]:
        with contextlib.closing(self):
            for number, entry in enumerate(entries):
                self._end_watches(number)
                self._watch(entry) if entry.watch else self._send(entry)
            self._end_watches(None)
        return self.steps

    def _send(self, entry: RecordedEntry) -> None:
        request = self._translated(entry)
        with contextlib.suppress(ValueError, AttributeError, KeyError, TypeError):
            if prefix := json.loads(entry.body)["metadata"].get("generateName"):
                self._tokens.expect_generated(prefix)
        response = self._exchange(request)
        self._translation.learn(entry, response)
        seen = {"status": response.status, "header": response.headers, "body": self._reduced(request, response.body)}
        self._record(_recorded(entry), seen)
        self._settled(request, response)

    def _watch(self, entry: RecordedEntry) -> None:
        request = self._translated(entry)
        try:
            self._watches.append((entry, Watching(self.target, request)))
        except (OSError, http.client.HTTPException) as error:
            self._record(_recorded(entry), {"status": 0, "body": f"no response: {type(error).__name__}: {error}"})

    def _translated(self, entry: RecordedEntry) -> Request:
        path = re.sub(r"hash=[0-9A-Fa-f]+&?", "", self._translation.text(entry.path))
        body = recording.decode_body(self._translation.text(entry.body))
        if body and entry.body.startswith(recording.BINARY):
            body = body.replace(recording.NAMESPACE.encode(), self.namespace.encode())
        # Responses are compared as JSON, which every client accepts.
        headers = {name: value.replace(PROTOBUF, "") for name, value in entry.headers.items() if name.lower() != "if-none-match"}
        return Request(entry.method, path, body, tuple(headers.items()))

    def _end_watches(self, number: int | None) -> None:
        """Ends the watches that the client had ended by then; None: all."""
        ended = [each for each in self._watches if number is None or each[0].until <= number]
        self._watches = [each for each in self._watches if each not in ended]
        for entry, watching in ended:
            events = [event for event in watching.end() if self._ours(event.get("object"))]
            # Objects that are deleted in the background end in no fixed order.
            events.sort(key=object_name)
            self._record(_recorded(entry), {"status": watching.status, "events": events})

    def _reduced(self, request: Request, body: Any) -> Any:
        """Without objects of others. Documents that scenarios compare are not compared again."""
        path = urllib.parse.urlsplit(request.path).path
        if DOCUMENT.fullmatch(path):
            identifiers = keys(body)
            return "a document" if identifiers and isinstance(identifiers, str) else identifiers
        return self._filtered(body)

    def _filtered(self, body: Any) -> Any:
        for part in ("items", "rows"):
            if isinstance(body, dict) and isinstance(body.get(part), list):
                body = {**body, part: [each for each in body[part] if self._ours(each)]}
        return body

    def _ours(self, entry: Any) -> bool:
        if isinstance(entry, dict) and entry.get("kind") == "Table":
            return any(self._ours(row) for row in entry.get("rows") or [])
        inner = entry.get("object", entry) if isinstance(entry, dict) else {}
        metadata = inner.get("metadata", {}) if isinstance(inner, dict) else {}
        if namespace := metadata.get("namespace"):
            return bool(namespace == self.namespace)
        return not metadata.get("name") or any(part in metadata["name"] for part in (self.namespace, "recorded-", "kubeflow.org"))

    def _settled(self, request: Request, response: Response) -> None:
        """Waits for background work, so that the next request finds the same state on both servers."""
        path = urllib.parse.urlsplit(request.path).path
        if request.method == "POST" and path == "/api/v1/namespaces" and response.status == 201:
            self.wait_for(self.path("serviceaccounts", "default"))
            self.wait_for(self.path("configmaps", "kube-root-ca.crt"))
        for reference in response.at("metadata.ownerReferences", []) if request.method == "POST" else ():
            self._owned.setdefault(reference["uid"], []).append(f"{path}/{response.at('metadata.name')}")
        if request.method == "DELETE":
            uid = response.at("details.uid", response.at("metadata.uid"))
            for child in self._owned.get(str(uid), ()):
                self._await_end(child)
            if IN_BACKGROUND & set(response.at("metadata.finalizers", [])):
                self._await_end(path, begun=False)

    def _await_end(self, path: str, begun: bool = True) -> None:
        """Waits until the object is deleted or, with `begun`, is being deleted."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            response = self.prepare("GET", path)
            if response.status == 404 or (begun and response.at("metadata.deletionTimestamp") != "missing"):
                return
            time.sleep(0.03)


def _recorded(entry: RecordedEntry) -> Request:
    """The request as it was recorded: the same for both servers."""
    return Request(entry.method, entry.path)


class Watching:
    """A watch that is read in the background."""

    def __init__(self, target: Target, request: Request) -> None:
        self._connection = target.connect(timeout=LONGEST)
        self._response = start(self._connection, target, request)
        self.status = self._response.status
        self._watch = Watch(self._response)
        self._thread = threading.Thread(target=self._watch.rest, daemon=True)
        self._thread.start()

    def end(self) -> list[dict[str, Any]]:
        """Ends the watch when no event has arrived for a while."""
        known, since = -1, time.monotonic()
        while self._thread.is_alive() and time.monotonic() - since < QUIET:
            if len(self._watch.events) != known:
                known, since = len(self._watch.events), time.monotonic()
            time.sleep(0.02)
        own_identifiers = list(self._watch.events)
        if self._connection.sock:
            self._connection.sock.close()
        return own_identifiers


def recordings() -> Iterator[tuple[str, list[RecordedEntry]]]:
    for path in sorted(recording.RECORDINGS.glob("*.jsonl")):
        yield path.stem, recording.read(path)
