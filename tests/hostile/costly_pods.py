"""Pods, Jobs and Services of less than 100 kB that ask the scheduler, the controllers or the kubelet for much more work."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.embedded.resilience import object_generator
from tests.hostile import enlarged_objects

from traincrew.model.resources import BATCH_JOBS, CONFIG_MAPS, PODS, SERVICES, Resource

Object = dict[str, Any]
HARD, SOFT = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
HOST = "kubernetes.io/hostname"
LARGE = "large"
"""A ConfigMap of almost 1 MiB, to which pods refer."""
COPIES = 20


class CostlyObject(NamedTuple):
    resource: Resource
    body: Object


def large_config_map() -> Object:
    return {"metadata": {"name": LARGE}, "data": {f"key-{index}": "x" * 80 for index in range(9_000)}}


def _pod(container: Object | None = None, **spec: Any) -> Object:
    return {"containers": [{"name": "main", "image": "i", "command": ["true"], **(container or {})}], **spec}


def _pods(*specs: Object, copies: int = COPIES) -> Iterator[CostlyObject]:
    """Each in several copies, with labels of their own."""
    for number, spec in enumerate(specs):
        for index in range(copies):
            name = f"pod-{number}-{index}"
            yield CostlyObject(PODS, {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec})


def references() -> Iterator[CostlyObject]:
    levels = [{"name": "A0", "value": "x" * 10}, *({"name": f"A{n}", "value": f"$(A{n - 1})" * 10} for n in range(1, 11))]
    long = [{"name": "A", "value": "x" * 50_000}]
    yield from _pods(
        _pod({"env": levels}),
        _pod({"env": [*long, *({"name": f"B{n}", "value": "$(A)"} for n in range(900))]}),
        _pod({"env": long, "args": ["$(A)"] * 4_000}),
        _pod({"env": long, "args": ["$(A)" * 4_000]}),
        _pod({"command": ["$(" * 45_000]}),
        _pod({"env": [{"name": "A", "value": "$(" * 45_000}]}),
        _pod({"args": ["$$" * 45_000]}),
        copies=1,
    )


def sources_of_variables() -> Iterator[CostlyObject]:
    reference = {"configMapRef": {"name": LARGE}}
    key = {"valueFrom": {"configMapKeyRef": {"name": LARGE, "key": "key-1"}}}
    field = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['a']"}}}
    yield from _pods(
        _pod({"envFrom": [{**reference, "prefix": f"P{index}_"} for index in range(1_500)]}),
        _pod({"envFrom": [reference] * 2_500}),
        _pod({"env": [{"name": f"A{index}", **key} for index in range(900)]}),
        copies=1,
    )
    metadata = {"name": "annotated", "annotations": {"a": "x" * 40_000}}
    yield CostlyObject(PODS, {"metadata": metadata, "spec": _pod({"env": [{"name": f"A{n}", **field} for n in range(500)]})})


def _separate(count: int, strength: str = HARD) -> Object:
    """Anti-affinity with labels that no pod has."""
    terms = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": f"none-{n}"}}} for n in range(count)]
    weighted: list[Object] = [{"weight": 1, "podAffinityTerm": term} for term in terms] if strength == SOFT else terms
    return {"podAntiAffinity": {strength: weighted}}


def affinity() -> Iterator[CostlyObject]:
    identical = {"podAntiAffinity": {HARD: [{"topologyKey": "a", "labelSelector": {"matchLabels": {"x": "y"}}}] * 1_300}}
    affine = {"podAffinity": {HARD: [{"topologyKey": HOST, "labelSelector": {}}] * 1_500}}
    expressions = [{"key": "app", "operator": "NotIn", "values": [f"v{n}" for n in range(9_000)]}]
    long = {"podAntiAffinity": {HARD: [{"topologyKey": HOST, "labelSelector": {"matchExpressions": expressions}}]}}
    yield from _pods(*(_pod(affinity=each) for each in (_separate(1_000), _separate(800, SOFT), identical, affine, long)))


def placement() -> Iterator[CostlyObject]:
    node_terms = [{"matchExpressions": [{"key": "a", "operator": "In", "values": [f"v{n}"]}]} for n in range(1_300)]
    expressions = [{"key": f"k{n}", "operator": "DoesNotExist"} for n in range(1_800)]
    spread = {"maxSkew": 1, "topologyKey": HOST, "labelSelector": {"matchExpressions": expressions}}
    ports = [{"containerPort": 1, "hostPort": n + 1, "name": f"p{n}"} for n in range(1_500)]
    yield from _pods(
        _pod(affinity={"nodeAffinity": {HARD: {"nodeSelectorTerms": node_terms}}}),
        _pod(topologySpreadConstraints=[{**spread, "whenUnsatisfiable": "DoNotSchedule"}]),
        _pod(topologySpreadConstraints=[{**spread, "whenUnsatisfiable": "ScheduleAnyway"}]),
        _pod(tolerations=[{"key": f"k{n}", "operator": "Exists"} for n in range(2_000)]),
        _pod({"ports": ports}),
        _pod({"resources": {"limits": {f"example.com/r{n}": "1" for n in range(900)}}}),
        _pod(nodeSelector={f"k{n}": "v" for n in range(4_000)}),
    )


def containers() -> Iterator[CostlyObject]:
    many = [{"name": f"c{n}", "image": "i"} for n in range(1_500)]
    probed = [{"name": f"c{n}", "image": "i", "readinessProbe": {"exec": {"command": ["a"]}}} for n in range(800)]
    yield from _pods({"containers": many}, {"containers": probed}, _pod(initContainers=many), copies=3)


def jobs() -> Iterator[CostlyObject]:
    rules = [{"action": "Count", "onExitCodes": {"operator": "In", "values": list(range(1, 256))}} for _ in range(20)]
    templates = (_pod(affinity=_separate(700)), _pod({"env": [{"name": f"A{n}", "value": "x"} for n in range(2_500)]}), _pod())
    for number, spec in enumerate(templates):
        template = {"spec": {**spec, "restartPolicy": "Never"}}
        body = {"parallelism": COPIES, "completions": COPIES, "template": template, "podFailurePolicy": {"rules": rules}}
        yield CostlyObject(BATCH_JOBS, {"metadata": {"name": f"job-{number}"}, "spec": body})
    template = {"spec": _pod(restartPolicy="Never")}
    many = {"completionMode": "Indexed", "parallelism": 100, "completions": 100, "template": template}
    yield CostlyObject(BATCH_JOBS, {"metadata": {"name": "indexed"}, "spec": many})


def services() -> Iterator[CostlyObject]:
    ports = [{"port": n + 1, "name": f"p{n}"} for n in range(2_000)]
    for index in range(COPIES):
        yield CostlyObject(SERVICES, {"metadata": {"name": f"service-{index}"}, "spec": {"ports": ports}})
        selector = {f"k{n}": "v" for n in range(4_000)}
        spec = {"ports": [{"port": 80}], "selector": selector}
        yield CostlyObject(SERVICES, {"metadata": {"name": f"selecting-{index}"}, "spec": spec})
    everything = {"ports": ports, "selector": {"all": "pods"}}
    yield CostlyObject(SERVICES, {"metadata": {"name": "everything"}, "spec": everything})
    for index in range(50):
        metadata = {"name": f"member-{index}", "labels": {"all": "pods"}}
        yield CostlyObject(PODS, {"metadata": metadata, "spec": _pod()})


CASES: tuple[Callable[[], Iterator[CostlyObject]], ...] = (
    references, sources_of_variables, affinity, placement, containers, jobs, services,
)  # fmt: skip


def enlarged(number: int) -> Iterator[CostlyObject]:
    """Valid objects with one part enlarged, in random places."""
    known = object_generator.valid_objects()
    for seed in range(number):
        rng = random.Random(f"costly pod {seed}")
        resource = rng.choice((PODS, PODS, BATCH_JOBS, SERVICES, CONFIG_MAPS))
        body = copy.deepcopy(rng.choice(known[resource.api_version, resource.kind]))
        within, key = rng.choice([each for each in object_generator.locations(body) if each[1] not in ("kind", "apiVersion")])
        within[key] = enlarged_objects.enlarged(rng, within[key])
        if isinstance(body.get("metadata"), dict):
            body["metadata"] = {**body["metadata"], "name": f"enlarged-{seed}", "namespace": "default"}
        if len(json.dumps(body)) < 110_000:
            yield CostlyObject(resource, body)
