"""Random writes to an object: applies, updates, patches of every kind, by several managers."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import random
from typing import Any

from tests.apimachinery.patches.random_manifests import GENERATORS, Object, some

from traincrew.apimachinery.patches import apply, field_managers, strategic_merge
from traincrew.apimachinery.patches import json_patch as patches_json_patch
from traincrew.apimachinery.patches import merge_patch as patches_merge_patch
from traincrew.apimachinery.resource_info import Schema

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
PUT = "application/json"

MANAGERS = ("m1", "m2", "m3", "kubectl")


@dataclasses.dataclass(frozen=True)
class RandomWrite:
    content: str
    body: Any
    manager: str
    force: bool = False
    subresource: str = ""


STATUS = frozenset({("status",)})
RESET = {"PyTorchJob": STATUS, "MPIJob": STATUS, "Deployment": STATUS, "Service": STATUS, "Pod": STATUS}
RESET_BY_STATUS = {
    "PyTorchJob": frozenset({("spec",)}),
    "Deployment": frozenset({("spec",), ("metadata", "labels")}),
    "Pod": frozenset({("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")}),
}


def reset(kind: str, step: RandomWrite) -> frozenset[tuple[str, ...]]:
    """The fields that the strategies of the real server reset."""
    if step.subresource:
        return RESET_BY_STATUS.get(kind, frozenset()) if step.subresource == "status" else frozenset()
    return RESET.get(kind, frozenset())


def patched_object(live: Object | None, step: RandomWrite, schema: Schema, now: str) -> Object:
    """Our result of the write. managedFields are set only for an apply."""
    match step.content:
        case "application/apply-patch+yaml":
            return apply.apply(
                live, step.body, schema, manager=step.manager, force=step.force, subresource=step.subresource, now=now,
                reset=reset(step.body["kind"], step),
            )  # fmt: skip
    assert live is not None
    match step.content:
        case "application/merge-patch+json":
            return patches_merge_patch.apply(live, step.body)
        case "application/strategic-merge-patch+json":
            return strategic_merge.apply(live, step.body, schema)
        case "application/json-patch+json":
            return patches_json_patch.apply(live, step.body)
    body: Object = step.body
    return body


def owners(live: Object, after: Object, step: RandomWrite, schema: Schema, now: str) -> list[Object]:
    """Our managedFields after this write replaces the live object."""
    after = dict(after)
    field_managers.update_managed_fields(
        live, after, schema, manager=step.manager, subresource=step.subresource, now=now, reset=reset(live["kind"], step)
    )
    entries: list[Object] = after["metadata"].get("managedFields") or []
    return entries


def moment(step: RandomWrite, response: Object, now: str) -> str:
    """The second of the write at the real server: that of its response, or the one before."""
    operation = "Apply" if step.content == APPLY else "Update"
    for entry in response["metadata"].get("managedFields") or ():
        mine = (entry["manager"], entry["operation"], entry.get("subresource", ""))
        if mine == (step.manager, operation, step.subresource) and "time" in entry and _age(entry["time"], now) <= 1:
            return str(entry["time"])
    return now


def _age(time: str, now: str) -> float:
    return (datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(time)).total_seconds()


def step(rng: random.Random, kind: str, live: Object) -> RandomWrite:
    manager, version = rng.choice(MANAGERS), live["apiVersion"]
    match rng.randrange(12):
        case 0 | 1 | 2 | 3 | 4:
            name = live["metadata"]["name"]
            return RandomWrite(APPLY, applied(rng, kind, version, name), manager, force=rng.random() < 0.5)
        case 5:
            return RandomWrite(PUT, put(rng, kind, live), manager)
        case 6 | 7:
            return RandomWrite(MERGE, merge_patch(rng, kind, live), manager)
        case 8 | 9 if version != "kubeflow.org/v1":
            return RandomWrite(STRATEGIC, strategic_patch(rng, GENERATORS[kind](rng), live), manager)
        case 10 if kind in ("Pod", "PyTorchJob", "Deployment"):
            return status(rng, kind, live, manager)
    return RandomWrite(JSON, json_patch(rng, live), manager)


def applied(rng: random.Random, kind: str, version: str, name: str) -> Object:
    generated = GENERATORS[kind](rng)
    return {"apiVersion": version, "kind": kind, **generated, "metadata": {"name": name, **generated["metadata"]}}


def put(rng: random.Random, kind: str, live: Object) -> Object:
    generated = GENERATORS[kind](rng)
    body = copy.deepcopy(live)
    chosen = some(rng, [key for key in generated if key != "metadata"])
    body.update({key: generated[key] for key in chosen})
    if kind == "Service":
        body["spec"] = live["spec"] | {"ports": generated["spec"]["ports"]}
    elif kind == "Pod":
        image = generated["spec"]["containers"][0]["image"]
        body["spec"] = live["spec"] | {"containers": [live["spec"]["containers"][0] | {"image": image}]}
    body["metadata"] = {key: value for key, value in live["metadata"].items() if key not in ("labels", "annotations")}
    body["metadata"].update({key: value for key, value in generated["metadata"].items() if key != "ownerReferences"})
    if rng.random() < 0.15:
        body["metadata"]["managedFields"] = rng.choice(([], [{}]))
    elif rng.random() < 0.5:
        body["metadata"].pop("managedFields", None)
    return body


def merge_patch(rng: random.Random, kind: str, live: Object) -> Object:
    generated = GENERATORS[kind](rng)
    patch: Object = _nulled(rng, {key: generated[key] for key in some(rng, list(generated), 1)})
    return patch


def _nulled(rng: random.Random, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    return {key: None if rng.random() < 0.1 else _nulled(rng, value) for key, value in patch.items()}


def strategic_patch(rng: random.Random, generated: Any, live: Any) -> Any:
    """A part of a generated object, with directives in lists of named items."""
    if isinstance(generated, dict):
        patch = {}
        for key in some(rng, list(generated), 1) if generated else []:
            patch[key] = strategic_patch(rng, generated[key], live.get(key) if isinstance(live, dict) else None)
            if rng.random() < 0.06:
                patch[key] = None
            if key in ("containers", "env", "volumes") and isinstance(patch[key], list):
                _ordered(rng, patch, key, live)
        if isinstance(live, dict) and rng.random() < 0.04:
            patch["$patch"] = rng.choice(["replace", "delete"])
        return patch
    if isinstance(generated, list) and generated and all(isinstance(each, dict) and "name" in each for each in generated):
        items = [strategic_patch(rng, each, None) | {"name": each["name"]} for each in generated]
        if rng.random() < 0.3:
            items.append({"name": rng.choice(["c1", "c2", "A", "B", "v"]), "$patch": "delete"})
        if rng.random() < 0.05:
            items.append({"$patch": "replace"})
        return items
    return generated


def _ordered(rng: random.Random, patch: Object, key: str, live: Any) -> None:
    if rng.random() < 0.4:
        named = [each["name"] for each in patch[key] if "name" in each and "$patch" not in each]
        others = [each.get("name", "") for each in (live or {}).get(key) or [] if each.get("name", "") not in named]
        for each in others:
            named.insert(rng.randint(0, len(named)), each)
        if rng.random() < 0.1:
            rng.shuffle(named)
        patch[f"$setElementOrder/{key}"] = [{"name": each} for each in dict.fromkeys(named)]


def json_patch(rng: random.Random, live: Object) -> list[Object]:
    operations: list[Object] = []
    if rng.random() < 0.7:  # so that more of the following operations apply
        operations += [{"op": "add", "path": f"/metadata/{key}", "value": {"a": "x"}} for key in ("labels", "annotations")]
    for _ in range(rng.randint(1, 2)):
        path = rng.choice(["/metadata/labels", "/metadata/annotations", *_pointers(live, rng)])
        key = rng.choice(["a", "b", "example.com~1c"] if "metadata" in path else ["a", "-", "0", "-1"])
        operations.append(
            rng.choice(
                [
                    {"op": "add", "path": f"{path}/{key}", "value": "y"},
                    {"op": "remove", "path": path},
                    {"op": "remove", "path": f"{path}/{key}"},
                    {"op": "replace", "path": f"{path}/{key}", "value": "z"},
                    {"op": "copy", "from": f"{path}/a", "path": "/metadata/annotations/b"},
                    {"op": "move", "from": f"{path}/a", "path": "/metadata/labels/b"},
                    {"op": "test", "path": f"{path}/a", "value": "x"},
                ]
            )
        )
    return operations


def _pointers(live: Any, rng: random.Random, before: str = "") -> list[str]:
    """A few JSON pointers into the object."""
    pointers = []
    if isinstance(live, dict):
        entries = [(key, live[key]) for key in live if key not in ("managedFields", "metadata", "status", "apiVersion", "kind")]
    else:
        entries = [(str(at), each) for at, each in enumerate(live)] if isinstance(live, list) else []
    for key, value in entries:
        path = f"{before}/{key.replace('~', '~0').replace('/', '~1')}"
        pointers += [path, *_pointers(value, rng, path)]
    return rng.sample(pointers, min(len(pointers), 4))


def status(rng: random.Random, kind: str, live: Object, manager: str) -> RandomWrite:
    if kind == "PyTorchJob":
        now = {"type": rng.choice(["Running", "Created"]), "status": rng.choice(["True", "False"])}
        body: Object = {"status": {"conditions": [now], "replicaStatuses": {"Worker": {"active": rng.choice([1, 2])}}}}
    elif kind == "Deployment":
        body = {"status": {"replicas": rng.choice([0, 3]), "observedGeneration": 1}}
    else:
        now = {"type": rng.choice(["Ready", "Initialized"]), "status": rng.choice(["True", "False"])}
        body = {"status": {"phase": rng.choice(["Running", "Pending"]), "conditions": [now]}}
    body["metadata"] = {"labels": {"a": rng.choice("xy")}}
    if rng.random() < 0.4:
        named = {"apiVersion": live["apiVersion"], "kind": kind, "metadata": {"name": live["metadata"]["name"]}}
        return RandomWrite(APPLY, named | {"status": body["status"]}, manager, rng.random() < 0.5, "status")
    return RandomWrite(MERGE, body, manager, subresource="status")
