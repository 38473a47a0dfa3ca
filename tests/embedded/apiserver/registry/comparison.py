"""Compares the response of our strategies with the response of a real API server to the same request."""

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools
import re
from typing import Any

from tests.embedded.apiserver.registry import write_steps
from tests.embedded.apiserver.registry.object_edits import Object

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.registry import builtin

_VOLATILE = ("resourceVersion", "managedFields", "uid", "creationTimestamp", "selfLink")
_GO_STRUCT = re.compile(r"\b[a-z0-9]+\.[A-Z]\w*\{|\(\*\w|0xc0")
_DRAWN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|Duplicate value: 3[0-2][0-9]{3}")
"""Identifiers and node ports that each server generates."""
_PRIORITY_CLASSES: list[Object] = [
    {"kind": "PriorityClass", "metadata": {"name": name}, "value": value, "preemptionPolicy": "PreemptLowerPriority"}
    for name, value in (("system-node-critical", 2000001000), ("system-cluster-critical", 2000000000))
]
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


@dataclasses.dataclass(frozen=True)
class ServerResponse:
    """An object, or the Status of an error."""

    code: int
    body: Object
    warnings: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        return self.code < 300


@dataclasses.dataclass(frozen=True)
class StrategyCase:
    kind: str
    line: str
    verb: str
    sent: Object
    old: Object | None
    real: ServerResponse

    @property
    def title(self) -> str:
        return f"{self.kind} {self.verb}: {self.line}"


def context(real: Object) -> builtin.WriteContext:
    """Our server generates the same values as the API server did."""
    spec = real.get("spec") or {}
    ports = iter(
        dict.fromkeys(port["nodePort"] for port in spec.get("ports") or () if isinstance(port, dict) and "nodePort" in port)
    )
    free = itertools.count(31000)
    health = iter([spec["healthCheckNodePort"]] if "healthCheckNodePort" in spec else [])
    uid = (real.get("metadata") or {}).get("uid") or "11111111-1111-1111-1111-111111111111"
    return builtin.WriteContext(
        uid=uid,
        now=_now(real.get("status") or {}),
        allocate_ip=lambda: spec.get("clusterIP", "10.96.0.99"),
        allocate_port=lambda: next(ports, 0) or next(health, 0) or next(free),
    )


def _now(status: Object) -> str:
    parts = [status, *(status.get("conditions") or ())]
    times = (each.get(field) for each in parts for field in ("lastPhaseTransitionTime", "lastTransitionTime"))
    return next((str(each) for each in times if each), "")


def simulated_response(case: StrategyCase) -> ServerResponse:
    group = case.sent["apiVersion"].rpartition("/")[0]
    rules = builtin.strategy(group, case.kind)
    obj = copy.deepcopy(case.sent)
    drawn = context(case.real.body if case.real.accepted else {})
    if case.verb == "create":
        obj["metadata"]["uid"] = drawn.uid
    try:
        if case.old is None:
            write_steps.created(_tainted(obj), *_PRIORITY_CLASSES, context=drawn)
            errors = rules.validate(obj)
        else:
            old = copy.deepcopy(case.old)
            sub = "status" if case.verb == "status" else ""
            write_steps.updated(obj, old, sub, drawn)
            errors = rules.validate_update(obj, old, sub)
    except api_errors.StatusError as error:
        return ServerResponse(error.code, error.status())
    if errors:
        return ServerResponse(422, api_errors.invalid(case.kind, group, obj["metadata"].get("name") or "", errors).status())
    return ServerResponse(200, obj, tuple(rules.warnings(obj, case.old)) if case.verb != "status" else ())


def _tainted(obj: Object) -> Object:
    """TaintNodesByCondition, a plugin of the API server that we do not have."""
    if obj["kind"] == "Node" and isinstance(spec := obj.setdefault("spec", {}), dict):
        taints = spec.get("taints") or []
        spec["taints"] = taints if _NOT_READY in taints else [*taints, dict(_NOT_READY)]
    return obj


def differences(case: StrategyCase) -> list[str]:
    """The differences of the two responses, one a line."""
    mine, real = simulated_response(case), case.real
    if mine.accepted != real.accepted:
        return [f"API server {real.code} {_message(real)}", f"ours {mine.code} {_message(mine)}"]
    if not real.accepted:
        return _errors_differ(mine, real)
    lines = [*_objects_differ(comparable(mine.body), comparable(real.body), "")]
    if collections.Counter(mine.warnings) != collections.Counter(real.warnings):
        lines.append(f"warnings {mine.warnings} instead of {real.warnings}")
    return lines


def _message(response: ServerResponse) -> str:
    return str(response.body.get("message", "")) if not response.accepted else ""


def comparable(obj: Object) -> Object:
    meta = {key: value for key, value in obj["metadata"].items() if key not in _VOLATILE}
    return {**obj, "metadata": meta}


def _objects_differ(mine: Any, real: Any, path: str) -> list[str]:
    if isinstance(mine, dict) and isinstance(real, dict):
        lines = []
        for key in sorted(mine.keys() | real.keys()):
            if key not in real:
                lines.append(f"{path}.{key}: only ours has {mine[key]!r}")
            elif key not in mine:
                lines.append(f"{path}.{key}: ours lacks {real[key]!r}")
            else:
                lines += _objects_differ(mine[key], real[key], f"{path}.{key}")
        return lines
    if isinstance(mine, list) and isinstance(real, list) and len(mine) == len(real):
        return [
            line for index, pair in enumerate(zip(mine, real, strict=True)) for line in _objects_differ(*pair, f"{path}[{index}]")
        ]
    return [] if mine == real and type(mine) is type(real) else [f"{path}: {mine!r} instead of {real!r}"]


def _errors_differ(mine: ServerResponse, real: ServerResponse) -> list[str]:
    if mine.code != real.code:
        return [f"code {mine.code} instead of {real.code}: {_message(mine)} / {_message(real)}"]
    if real.code != 422:
        return [] if _message(mine) == _message(real) else [f"ours {_message(mine)!r}", f"real {_message(real)!r}"]
    return causes_differ(_causes(mine.body), _causes(real.body))


Cause = tuple[str, str, str]


def _causes(status: Object) -> list[Cause]:
    causes = (status.get("details") or {}).get("causes") or ()
    return [(each.get("reason", ""), each.get("field", ""), each.get("message", "")) for each in causes]


def causes_differ(mine: list[Cause], real: list[Cause]) -> list[str]:
    """Values that Go prints as structs, with addresses of pointers, are not compared."""
    structs = {(reason, field) for reason, field, message in real if _GO_STRUCT.search(message) or "\n" in message}
    mine, real = ([(*cause[:2], _DRAWN.sub("<drawn>", cause[2])) for cause in causes] for causes in (mine, real))
    have, want = (collections.Counter(_reduced(cause, structs) for cause in causes) for causes in (mine, real))
    text = [f"ours only: {cause}" for cause in sorted((have - want).elements())]
    return [*text, *(f"real only: {cause}" for cause in sorted((want - have).elements()))]


def _reduced(cause: Cause, structs: set[tuple[str, str]]) -> Cause:
    reason, field, message = cause
    if (reason, field) not in structs:
        return cause
    first = message.partition("\n")[0]
    return reason, field, first.rpartition(": ")[2]
