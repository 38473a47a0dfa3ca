"""The lifecycle of a job of each kind: created, running, a replica lost and replaced, scaled up and down, succeeded, cleaned up.

The final state must be the same with one operator, a killed operator, network faults and two operators.
"""

from __future__ import annotations

import collections
import dataclasses
import uuid
from collections.abc import Iterable
from typing import Any

from tests.cluster import manifests
from tests.cluster.api import KINDS, Api, Object
from tests.cluster.fake_kubelet import FakeKubelet, now
from tests.cluster.manifests import FIELDS
from tests.cluster.watch_cache import WatchCache

LEADERS = {"TFJob": "Chief", "PyTorchJob": "Master", "XGBoostJob": "Master", "PaddleJob": "Master", "MPIJob": "Launcher"}
COMPARED = ("configmaps", "roles", "rolebindings", "serviceaccounts", "secrets", "jobs", "services")


@dataclasses.dataclass(frozen=True)
class KindVersion:
    kind: str
    version: str = "v1"

    def __str__(self) -> str:
        return self.kind if self.version == "v1" else f"{self.kind} {self.version}"

    @property
    def launched(self) -> bool:
        """A batch Job creates the pod of the leader. The driver acts as its controller."""
        return self.version != "v1"

    @property
    def leader(self) -> str:
        role = LEADERS.get(self.kind, "Worker").lower()
        return "j-launcher" if role == "launcher" else f"j-{role}-0"

    @property
    def makes(self) -> set[str]:
        """The pods that the operator creates at the start."""
        return {"j-worker-0"} if self.launched else {self.leader, "j-worker-0"}

    def job(self) -> Object:
        roles: Object = {"Worker": manifests.replicas(self.kind, 1, "OnFailure")}
        if self.kind in LEADERS:
            roles[LEADERS[self.kind]] = manifests.replicas(self.kind, 1)
        return manifests.job(self.kind, version=self.version, run={"cleanPodPolicy": "All"}, **roles)


ALL_KINDS = (
    *(KindVersion(kind) for kind in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob")),
    KindVersion("MPIJob", "v2beta1"),
)
WATCHED = ("pods", "services", *sorted({KINDS[each.kind] for each in ALL_KINDS}), "jobs")


class LifecycleDriver:
    """Drives one job in a namespace of its own: acts as kubelet, Job controller and user."""

    def __init__(self, api: Api, cache: WatchCache) -> None:
        self.api, self.cache = api, cache
        self.namespace = f"life-{uuid.uuid4().hex[:10]}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        api.call("POST", "/api/v1/namespaces", body)
        self.kubelet = _CachedKubelet(self)

    def close(self) -> None:
        self.api.delete("namespaces", "", self.namespace)

    def run(self, kind: KindVersion) -> None:
        job = _Lifecycle(self, kind)
        job.starts()
        job.loses_a_worker()
        job.scales()
        job.succeeds()


class _CachedKubelet(FakeKubelet):
    """Waits by means of the watch cache."""

    def __init__(self, driver: LifecycleDriver) -> None:
        super().__init__(driver.api, driver.namespace)
        self._cache = driver.cache

    def pod(self, name: str) -> Object:
        def there() -> Object | None:
            found = self._cache.find("pods", self.namespace, name)
            return found if found and not found["metadata"].get("deletionTimestamp") else None

        found: Object = self._cache.until(there, because=f"pod {name} was not created in {self.namespace}")
        return found


class _Lifecycle:
    def __init__(self, driver: LifecycleDriver, kind: KindVersion) -> None:
        self.driver, self.kind = driver, kind
        self.api, self.namespace, self.kubelet, self.cache = driver.api, driver.namespace, driver.kubelet, driver.cache
        self.plural = KINDS[kind.kind]

    def starts(self) -> None:
        self.api.create(self.namespace, self.kind.job())
        for name in self.kind.makes:
            self.kubelet.run(name)
        if self.kind.launched:
            self._launch()
        self._is("Running", Restarting="")

    def loses_a_worker(self) -> None:
        # Times are whole seconds: two conditions within the same second would be recorded as one event.
        self.cache.until(lambda: now() > max(entry["lastUpdateTime"] for entry in self._status()["conditions"]))
        before = self.kubelet.pod("j-worker-0")["metadata"]["uid"]
        self.kubelet.fail("j-worker-0", code=1, message="lost a peer")
        self.cache.until(
            lambda: self._pod("j-worker-0")["metadata"]["uid"] not in ("", before),
            because=f"j-worker-0 was not replaced in {self.namespace}",
        )
        self.kubelet.run("j-worker-0")
        self._is("Running", Restarting="")

    def scales(self) -> None:
        self._workers(2)
        self.kubelet.run("j-worker-1")
        self._counts(active=2)
        self._workers(1)
        self._finish_deletions(lambda: self.cache.find("pods", self.namespace, "j-worker-1") is None, "j-worker-1 is still there")
        self.cache.until(lambda: self.cache.find("services", self.namespace, "j-worker-1") is None)
        self._counts(active=1)

    def succeeds(self) -> None:
        if self.kind.launched:
            self._complete()
        else:
            self.kubelet.succeed(self.kind.leader)
        self._is("Succeeded", Running="False")
        own = {"Job"} if self.kind.launched else set()
        self._finish_deletions(
            lambda: not [pod for pod in self.cache.all("pods", self.namespace) if _owner(pod) not in own], "pods are left"
        )
        self.cache.until(
            lambda: self.kind.launched or not self.cache.all("services", self.namespace), because="services are left"
        )
        self._counts(active=0)

    def _pod(self, name: str) -> Object:
        return self.cache.find("pods", self.namespace, name) or {"metadata": {"uid": ""}}

    def _workers(self, count: int) -> None:
        body = {"spec": {FIELDS[self.kind.kind]: {"Worker": {"replicas": count}}}}
        self.api.patch(self.plural, self.namespace, "j", body, version=self.kind.version)

    def _status(self) -> Object:
        found: Object = (self.cache.find(self.plural, self.namespace, "j") or {}).get("status") or {}
        return found

    def _is(self, type: str, **others: str) -> None:
        wanted = {type: "True", **others}

        def claim() -> bool:
            found = {entry["type"]: entry["status"] for entry in self._status().get("conditions") or ()}
            return all(found.get(name, "") == value for name, value in wanted.items())

        self.cache.until(claim, because=f"{self.kind} in {self.namespace} did not become {type}")

    def _counts(self, active: int) -> None:
        def claim() -> bool:
            found: Object = self._status().get("replicaStatuses") or {}
            return bool((found.get("Worker") or {}).get("active", 0) == active)

        self.cache.until(claim, because=f"{self.kind} in {self.namespace} does not count {active} active workers")

    def _finish_deletions(self, claim: Any, because: str) -> None:
        """Remove terminating pods until the condition holds."""

        def ended() -> bool:
            for pod in self.cache.all("pods", self.namespace):
                name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
                if pod["metadata"].get("deletionTimestamp") and uid not in over:
                    over.add(uid)
                    self.kubelet.gone(name)
            return bool(claim())

        over: set[str] = set()
        self.cache.until(ended, because=f"{because} in {self.namespace}")

    def _launch(self) -> None:
        """Acts as the Job controller: create a pod from the template of the Job."""
        launcher = self.cache.until(lambda: self.cache.find("jobs", self.namespace, "j-launcher"), because="no launcher")
        template, meta = launcher["spec"]["template"], launcher["metadata"]
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
        owner |= {"controller": True, "blockOwnerDeletion": True}
        labels = template["metadata"]["labels"]
        pod = {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"]}
        self.api.create(
            self.namespace, {**pod, "metadata": {"name": "j-launcher-x", "labels": labels, "ownerReferences": [owner]}}
        )
        self.kubelet.run("j-launcher-x")

    def _complete(self) -> None:
        self.kubelet.succeed("j-launcher-x")
        stamp = now()
        conditions = [
            {"type": type, "status": "True", "lastProbeTime": stamp, "lastTransitionTime": stamp}
            for type in ("SuccessCriteriaMet", "Complete")
        ]
        status = {"startTime": stamp, "completionTime": stamp, "succeeded": 1, "conditions": conditions}
        self.api.patch("jobs", self.namespace, "j-launcher", {"status": status}, "status")


def _owner(entry: Object) -> str:
    return next((ref["kind"] for ref in entry["metadata"].get("ownerReferences") or () if ref.get("controller")), "")


EventCounts = dict[tuple[str, str], int]
"""Number of events by reason and by object or message."""


@dataclasses.dataclass(frozen=True)
class FinalState:
    """The objects and events at the end, without values that differ between runs."""

    status: Object
    objects: dict[str, Object]
    incarnations: dict[str, int]
    """Number of pods that had each name."""
    events: EventCounts
    removed: EventCounts
    """Events about deletions. They are lost if the operator is killed after the deletion."""


def counts_match(driver: LifecycleDriver, kind: KindVersion) -> bool:
    """Whether the active counts match the pods: the end of a pod may be observed after the end of the job."""
    job = driver.cache.find(KINDS[kind.kind], driver.namespace, "j") or {}
    counts = (job.get("status") or {}).get("replicaStatuses") or {}
    running = [pod for pod in driver.cache.all("pods", driver.namespace) if pod.get("status", {}).get("phase") == "Running"]
    return sum(int(entry.get("active", 0)) for entry in counts.values()) == len(running)


def final_state(driver: LifecycleDriver, kind: KindVersion) -> FinalState:
    api, namespace = driver.api, driver.namespace
    status = api.get(KINDS[kind.kind], namespace, "j")["status"]
    objects = {
        plural: {entry["metadata"]["name"]: _content(entry) for entry in api.all(plural, namespace)} for plural in COMPARED
    }
    events, removed = count_events(driver)
    objects = _without_times(objects, namespace)
    return FinalState(_without_times(status, namespace), objects, driver.cache.incarnations("pods", namespace), events, removed)


def assert_same(found: FinalState, normal: FinalState, when: str) -> None:
    """Nothing is lost or duplicated, except events about deletions, which a crash can lose."""
    for part in ("incarnations", "status", "objects", "events"):
        mine, theirs = getattr(found, part), getattr(normal, part)
        different = {key: (mine.get(key), theirs.get(key)) for key in {**mine, **theirs} if mine.get(key) != theirs.get(key)}
        assert not different, f"{when}: {part} found and expected: {different}"
    doubled = {key: count for key, count in found.removed.items() if count > normal.removed.get(key, 0)}
    assert not doubled, f"{when}: events twice: {doubled}"


def count_events(driver: LifecycleDriver) -> tuple[EventCounts, EventCounts]:
    """All events, and separately those about deletions."""
    found: collections.Counter[tuple[str, str]] = collections.Counter()
    for event in driver.api.events(driver.namespace, "j"):
        found.update((event["reason"], text) for text in _split_message(event["message"].replace(driver.namespace, "n")))
    removed = {key: count for key, count in found.items() if key[0].startswith("SuccessfulDelete")}
    return {key: count for key, count in found.items() if key not in removed}, removed


def _split_message(message: str) -> Iterable[str]:
    """One text per object of a message about several objects."""
    verb, colon, names = message.partition(": ")
    return [f"{verb}: {name}" for name in names.split(", ")] if colon and verb.startswith(("Created", "Deleted")) else [message]


def _content(entry: Object) -> Object:
    secret = entry.get("kind") == "Secret" or "ssh-privatekey" in (entry.get("data") or {})
    data = sorted(entry.get("data") or {}) if secret else entry.get("data")
    return {"data": data, "rules": entry.get("rules"), "owner": _owner(entry), "labels": entry["metadata"].get("labels")}


TIMES = ("lastUpdateTime", "lastTransitionTime", "startTime", "completionTime", "lastLoss", "time", "youngest", "since")


def _without_times(value: Any, namespace: str) -> Any:
    if isinstance(value, dict):
        return {
            key: "set" if key in TIMES else _without_times(inner, namespace)
            for key, inner in value.items()
            if key not in ("uid", "entered")
        }
    if isinstance(value, list):
        return [_without_times(inner, namespace) for inner in value]
    return value.replace(namespace, "n") if isinstance(value, str) else value
