"""A cache of API objects that is kept current by watches, so that many tests can wait without polling the API server."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.cluster.api import Api, Object, RejectedRequest

Key = tuple[str, str, str]
"""Plural, namespace, name."""


class WatchCache:
    """One thread per resource, for all namespaces."""

    def __init__(self, kubeconfig: str | os.PathLike[str], *plurals: str) -> None:
        self._objects: dict[Key, Object] = {}
        self._seen: dict[Key, set[str]] = {}
        self._news = threading.Condition(threading.RLock())
        self._closed = False
        self._kubeconfig = kubeconfig
        for plural in plurals:
            listed = threading.Event()
            threading.Thread(target=self._follow, args=(plural, listed), name=f"cache {plural}", daemon=True).start()
            assert listed.wait(60)

    def find(self, plural: str, namespace: str, name: str) -> Object | None:
        with self._news:
            return self._objects.get((plural, namespace, name))

    def all(self, plural: str, namespace: str) -> list[Object]:
        with self._news:
            return [found for (kind, place, _), found in self._objects.items() if (kind, place) == (plural, namespace)]

    def incarnations(self, plural: str, namespace: str) -> dict[str, int]:
        """Number of objects that had each name."""
        with self._news:
            return {name: len(uids) for (kind, place, name), uids in self._seen.items() if (kind, place) == (plural, namespace)}

    def until(self, claim: Callable[[], Any], seconds: float = 60.0, because: str = "") -> Any:
        """Wait until the condition holds, and return its value. It is evaluated after every change."""
        deadline = time.monotonic() + seconds
        while True:
            with self._news:
                found = claim()
                if found:
                    return found
                if time.monotonic() > deadline:
                    raise AssertionError(because or f"did not become true within {seconds} s")
                self._news.wait(1.0)

    def close(self) -> None:
        self._closed = True

    def _follow(self, plural: str, listed: threading.Event) -> None:
        api = Api(self._kubeconfig)
        while not self._closed:
            with contextlib.suppress(OSError, ValueError, KeyError, RejectedRequest):
                found = api.call("GET", api.path(plural))
                with self._news:
                    for key in [key for key in self._objects if key[0] == plural]:
                        del self._objects[key]
                    for entry in found["items"]:
                        self._put(plural, "ADDED", entry)
                    self._news.notify_all()
                listed.set()
                self._watch(api, plural, found["metadata"]["resourceVersion"])
            time.sleep(0.1)

    def _watch(self, api: Api, plural: str, version: str) -> None:
        query = {"watch": "true", "resourceVersion": version}
        with api.session.get(api.server + api.path(plural), params=query, stream=True, timeout=(10, 600)) as stream:
            for line in stream.iter_lines(chunk_size=1 << 16):
                event = json.loads(line)
                if event["type"] == "ERROR" or self._closed:
                    return
                with self._news:
                    self._put(plural, event["type"], event["object"])
                    self._news.notify_all()

    def _put(self, plural: str, change: str, entry: Object) -> None:
        key = (plural, entry["metadata"]["namespace"], entry["metadata"]["name"])
        if change == "DELETED":
            self._objects.pop(key, None)
        else:
            self._objects[key] = entry
        self._seen.setdefault(key, set()).add(entry["metadata"]["uid"])


@contextlib.contextmanager
def watching(kubeconfig: str | os.PathLike[str], *plurals: str) -> Iterator[WatchCache]:
    found = WatchCache(kubeconfig, *plurals)
    try:
        yield found
    finally:
        found.close()
