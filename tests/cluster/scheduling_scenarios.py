"""Nodes and pods for two schedulers, and the comparison of their decisions."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.cluster.api import Api, Object, RejectedRequest, eventually

from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.embedded.scheduler import Scheduler
from traincrew.scheduling.decisions import Profile

NODES = "/api/v1/nodes"
SPACE = "default"
USUAL = "PreemptLowerPriority"
PRIORITIES = {"high": (1000, USUAL), "middle": (500, USUAL), "low": (100, USUAL), "polite": (1000, "Never")}


class Scenario(NamedTuple):
    nodes: dict[str, Object]
    """By name: capacity, labels, taints, unschedulable."""
    pods: list[Object]
    """Created one after the other, each after the scheduler has processed the previous one."""


def pod(name: str, spec: Object | None = None, wants: Object | None = None, **meta: Any) -> Object:
    """Fields of the pod spec, except `ports` and `limits`, which belong to the container."""
    given = dict(spec or {})
    limits = given.pop("limits", {})
    container = {"name": "main", "image": "x", "resources": {"requests": wants or {}, "limits": limits}}
    container["ports"] = given.pop("ports", [])
    return {"metadata": {"name": name, **meta}, "spec": {"containers": [container], **given}}


def far(labels: Object, kind: str = "podAntiAffinity") -> Object:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def near(expressions: list[Object], **more: Any) -> Object:
    terms = [{"matchExpressions": expressions, **more}]
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}


ONE: dict[str, Object] = {"one": {}}
WEB = {"app": "web"}
PORT = {"ports": [{"containerPort": 80, "hostPort": 80}]}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": WEB}}
USING = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]}

SCENARIOS: dict[str, Scenario] = {
    "it fits": Scenario(ONE, [pod("p", wants={"cpu": "1"})]),
    "no nodes": Scenario({}, [pod("p")]),
    "too much of everything": Scenario(ONE, [pod("p", wants={"cpu": "9", "memory": "99Gi"})]),
    "no devices": Scenario(ONE, [pod("p", {"limits": {"nvidia.com/gpu": "1"}})]),
    "too many pods": Scenario({"one": {"pods": "1"}}, [pod("p"), pod("q")]),
    "what is left": Scenario(ONE, [pod("p", wants={"cpu": "3"}), pod("q", wants={"cpu": "2"}), pod("r", wants={"cpu": "1"})]),
    "a taint": Scenario({"one": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}}, [pod("p")]),
    "a taint that is tolerated": Scenario(
        {"one": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}},
        [pod("p", {"tolerations": [{"key": "k", "operator": "Exists"}]})],
    ),
    "an unschedulable node": Scenario({"one": {"unschedulable": True}}, [pod("p")]),
    "a selector": Scenario(ONE, [pod("p", {"nodeSelector": {"disk": "ssd"}})]),
    "an affinity": Scenario({"one": {"labels": {"n": "5"}}}, [pod("p", near([{"key": "n", "operator": "Gt", "values": ["7"]}]))]),
    "a node by name": Scenario(
        ONE, [pod("p", near([], matchFields=[{"key": "metadata.name", "operator": "In", "values": ["other"]}]))]
    ),
    "a port twice": Scenario(ONE, [pod("p", PORT), pod("q", PORT)]),
    "no pod that it needs": Scenario(ONE, [pod("p", far(WEB, "podAffinity"))]),
    "an affinity to itself": Scenario(
        ONE, [pod("p", far(WEB, "podAffinity"), labels=WEB), pod("q", far(WEB, "podAffinity"), labels=WEB)]
    ),
    "apart": Scenario(ONE, [pod("p", labels=WEB), pod("q", far(WEB))]),
    "an anti-affinity of others": Scenario(ONE, [pod("p", far(WEB)), pod("q", labels=WEB)]),
    "spread without zones": Scenario(ONE, [pod("p", {"topologySpreadConstraints": [SPREAD]}, labels=WEB)]),
    "spread": Scenario(
        {"one": {"labels": {"zone": "a"}}, "two": {"labels": {"zone": "b"}, "taints": [{"key": "k", "effect": "NoSchedule"}]}},
        [pod(name, {"topologySpreadConstraints": [SPREAD]}, labels=WEB) for name in ("p", "q")],
    ),
    "several nodes, several reasons": Scenario(
        {"one": {"cpu": "1"}, "two": {"taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]}, "three": {"cpu": "1"}},
        [pod("p", wants={"cpu": "2"})],
    ),
    "a claim that is not there": Scenario(ONE, [pod("p", USING)]),
    "no pod of lower priority": Scenario(
        ONE, [pod("p", {"priorityClassName": "high"}, {"cpu": "4"}), pod("q", {"priorityClassName": "high"}, {"cpu": "4"})]
    ),
    "preemption that would not help": Scenario(
        ONE, [pod("p", wants={"cpu": "3"}), pod("q", {"priorityClassName": "high"}, {"cpu": "9"})]
    ),
    "preemption never": Scenario(
        ONE, [pod("p", wants={"cpu": "3"}), pod("q", {"priorityClassName": "polite"}, {"cpu": "3"})]
    ),
    "preemption": Scenario(
        ONE,
        [
            pod("a", wants={"cpu": "1"}), pod("b", {"priorityClassName": "middle"}, {"cpu": "2"}),
            pod("c", {"priorityClassName": "low"}, {"cpu": "1"}),
            pod("q", {"priorityClassName": "high"}, {"cpu": "3"}),
        ],
    ),
    "preemption on the node with the lowest priorities": Scenario(
        {"one": {}, "two": {"labels": {"disk": "ssd"}}},
        [
            pod("a", {"priorityClassName": "middle", "nodeSelector": {"disk": "ssd"}}, {"cpu": "4"}),
            pod("b", wants={"cpu": "4"}),
            pod("q", {"priorityClassName": "high"}, {"cpu": "3"}),
        ],
    ),
}  # fmt: skip


def run(api: Api, scenario: Scenario) -> Object:
    """The resulting pods and events. All objects are deleted afterwards."""
    for name, each in scenario.nodes.items():
        _node(api, name, each)
    try:
        _wait_for_nodes(api, len(scenario.nodes))
        for body in scenario.pods:
            api.create(SPACE, {"kind": "Pod", "apiVersion": "v1", **body})
            _wait_for_decision(api, body["metadata"]["name"])
        return _seen(api, [each["metadata"]["name"] for each in scenario.pods])
    finally:
        _clear(api)


def _node(api: Api, name: str, given: Object) -> None:
    """Create the node in one request, so that no scheduler sees it incomplete."""
    amounts = {key: value for key, value in given.items() if key in ("cpu", "memory", "pods")}
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, **given.get("labels", {})}}
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110", **amounts}
    spec = {key: given[key] for key in ("taints", "unschedulable") if key in given}
    status = {"allocatable": allocatable, "capacity": allocatable}
    api.call("POST", NODES, {"kind": "Node", "apiVersion": "v1", "metadata": meta, "spec": spec, "status": status})


def _wait_for_nodes(api: Api, nodes: int) -> None:
    """Wait until the scheduler has seen all objects: it then reports a pod that fits no node."""
    body = pod("probe", {"nodeSelector": {"no": "such"}, "tolerations": [{"operator": "Exists"}]})
    api.create(SPACE, {"kind": "Pod", "apiVersion": "v1", **body})
    prefix = f"0/{nodes} nodes" if nodes else "no nodes"

    def seen() -> bool:
        condition = _scheduled(api.get("pods", SPACE, "probe"))
        return condition is not None and condition["message"].startswith(prefix)

    eventually(seen, because="the scheduler does not see the nodes")
    api.delete("pods", SPACE, "probe", grace=0)


def _scheduled(found: Object) -> Object | None:
    return next((each for each in found["status"].get("conditions", ()) if each["type"] == "PodScheduled"), None)


def _wait_for_decision(api: Api, name: str) -> None:
    """Preempting pods are nominated, their victims terminate, and every reason is also an event."""

    def settled() -> bool:
        found = api.get("pods", SPACE, name)
        condition = _scheduled(found)
        if condition is None:
            return False
        reason = "Scheduled" if condition["status"] == "True" else "FailedScheduling"
        return any(each["reason"] == reason for each in api.events(SPACE, name))

    eventually(settled, because=f"the scheduler has not decided about {name}")


def _seen(api: Api, names: list[str]) -> Object:
    found: Object = {}
    uids = {api.get("pods", SPACE, name)["metadata"]["uid"]: name for name in names}
    for name in names:
        found[name] = _pod(api.get("pods", SPACE, name))
        found[name]["events"] = sorted(
            _event(each, uids) for each in api.events(SPACE, name) if each["reason"] != "FailedScheduling"
        )
    return found


def _pod(body: Object) -> Object:
    conditions = {
        each["type"]: {key: each.get(key) for key in ("status", "reason", "message")}
        for each in body["status"].get("conditions", ())
    }
    if (nominated := body["status"].get("nominatedNodeName")) and "PodScheduled" in conditions:
        # The rest of the message depends on further scheduling attempts.
        conditions["PodScheduled"]["message"] = conditions["PodScheduled"]["message"].partition(" preemption:")[0]
    return {
        "node": body["spec"].get("nodeName"),
        "nominated": nominated,
        "going": "deletionTimestamp" in body["metadata"],
        "conditions": conditions,
    }


def _event(event: Object, uids: dict[str, str]) -> tuple[str, ...]:
    message = event["message"]
    for uid, name in uids.items():
        message = message.replace(uid, f"<{name}>")
    related = (event.get("related") or {}).get("name", "")
    return (event["type"], event["reason"], event.get("action", ""), event["reportingComponent"], message, related)


def _clear(api: Api) -> None:
    for name in api.names("pods", SPACE):
        with contextlib.suppress(RejectedRequest):
            api.delete("pods", SPACE, name, grace=0)
    eventually(lambda: not api.names("pods", SPACE))
    for node in api.call("GET", NODES)["items"]:
        api.call("DELETE", f"{NODES}/{node['metadata']['name']}")
    api.call("DELETE", f"/api/v1/namespaces/{SPACE}/events")


def prepare(api: Api) -> None:
    for name, (value, policy) in PRIORITIES.items():
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
        full = {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", **body}
        api.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", full)


@contextlib.contextmanager
def ours(config: pathlib.Path) -> Iterator[None]:
    """The embedded scheduler as a client of this API server."""
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with RemoteClient(kubeconfig.load(str(config)), component="scheduler") as client:
            await Scheduler(client, Profile()).run()

    task = loop.create_task(serve())

    def run() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
