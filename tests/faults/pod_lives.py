"""How long the workers of jobs have been on nodes, seen by another client than the operator."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
from typing import Any

import requests
from tests.cluster.api import Api, Object, RejectedRequest

INTERVAL = 0.3


class PodLives(threading.Thread):
    """Reads the pods of a namespace until it is stopped."""

    def __init__(self, api: Api, namespace: str) -> None:
        super().__init__(daemon=True)
        self._api, self._namespace, self._stopped = api, namespace, threading.Event()
        self._lives: dict[str, tuple[str, dt.datetime, dt.datetime]] = {}
        """The job, and the times between which the pod was on a node, by UID."""
        self._last_read, self._present = dt.datetime.now(dt.UTC), set[str]()
        self.most = dict[str, int]()
        """The largest number of workers that were not terminating, by job."""

    def run(self) -> None:
        while not self._stopped.wait(INTERVAL):
            with contextlib.suppress(RejectedRequest, requests.RequestException):
                self._read()

    def stop(self) -> None:
        self._stopped.set()
        self.join()
        self._api.session.close()

    def _read(self) -> None:
        pods = self._api.all("pods", self._namespace, "training.kubeflow.org/replica-type=worker")
        now = dt.datetime.now(dt.UTC)
        active: dict[str, int] = {}
        present: set[str] = set()
        for pod in pods:
            job = pod["metadata"]["labels"]["training.kubeflow.org/job-name"]
            if pod["status"].get("phase") in ("Succeeded", "Failed"):
                continue
            if pod["spec"].get("nodeName"):
                uid = pod["metadata"]["uid"]
                begin = self._lives[uid][1] if uid in self._lives else self._between(_bound(pod), now)
                self._lives[uid] = (job, begin, now)
                present.add(uid)
            if "deletionTimestamp" not in pod["metadata"]:
                active[job] = active.get(job, 0) + 1
        for uid in self._present - present:  # it has ended since the last time
            job, begin, end = self._lives[uid]
            self._lives[uid] = (job, begin, end + (now - end) / 2)
        self._present, self._last_read = present, now
        self.most = {job: max(self.most.get(job, 0), active.get(job, 0)) for job in {*self.most, *active}}

    def _between(self, time: dt.datetime | None, now: dt.datetime) -> dt.datetime:
        """The time, or if it is not known the middle of the last interval."""
        return min(max(time, self._last_read), now) if time is not None else self._last_read + (now - self._last_read) / 2

    def seconds(self, job: str, until: dt.datetime) -> float:
        lives = [(min(begin, until), min(end, until)) for each, begin, end in self._lives.values() if each == job]
        return sum((end - begin).total_seconds() for begin, end in lives)


def _bound(pod: Object) -> dt.datetime | None:
    """The times of conditions are whole seconds, rounded down: half a second later in the mean."""
    conditions: list[Any] = pod["status"].get("conditions", [])
    times = [each["lastTransitionTime"] for each in conditions if each["type"] == "PodScheduled" and each["status"] == "True"]
    return dt.datetime.fromisoformat(times[0]) + dt.timedelta(seconds=0.5) if times else None
