"""Golden cases: a job, the observed objects and the time as YAML, and the plan as YAML next to it.

`x.yaml` is written by hand. Objects around the job stand in maps by name; what is the same for all of them (namespace, UID,
owner, date of creation) is filled in. `x.plan.yaml` is written by `python -m tests.golden.regenerate`: read the diff.
"""

from __future__ import annotations

import datetime as dt
import pathlib
from typing import Any

import msgspec
import yaml

from traincrew import settings
from traincrew.kinds import KINDS
from traincrew.kinds.job_decoding import decode
from traincrew.kinds.kind import JobKind
from traincrew.model import objects
from traincrew.model.observed import Observed
from traincrew.planner.actions import Action, Create, Delete, ListEvents, Patch, Plan
from traincrew.planner.plan import plan as decide

Manifest = dict[str, Any]
HERE = pathlib.Path(__file__).parent
_SEEN: dict[str, tuple[str, type[Any]]] = {
    "pods": ("pods", objects.Pod),
    "services": ("services", objects.Plain),
    "configMaps": ("config_maps", objects.ConfigMap),
    "roles": ("roles", objects.RbacRole),
    "roleBindings": ("role_bindings", objects.Plain),
    "serviceAccounts": ("service_accounts", objects.Plain),
    "batchJobs": ("batch_jobs", objects.BatchJob),
    "autoscalers": ("autoscalers", objects.Autoscaler),
    "podGroups": ("pod_groups", objects.PodGroup),
}


def paths() -> list[pathlib.Path]:
    return sorted(path for path in HERE.glob("*.yaml") if not path.name.endswith(".plan.yaml"))


def golden(path: pathlib.Path) -> pathlib.Path:
    return path.with_suffix(".plan.yaml")


def planned(path: pathlib.Path) -> str:
    case: Manifest = yaml.load(path.read_text(), _Loader)
    kind = next(kind for kind in KINDS if kind.kind == case["job"]["kind"])
    job = {"metadata": {}, **case["job"]}
    defaults = {"name": "j", "namespace": "n", "uid": "uid-of-j", "creationTimestamp": "2026-01-01T12:00:00Z"}
    job["metadata"] = {**defaults, **job["metadata"]}
    stored = decode(kind, msgspec.json.encode(job))
    plan = decide(kind, stored, _observed(kind, job, case), dt.datetime.fromisoformat(case["now"]))
    return yaml.dump(_written(plan), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


def _observed(kind: JobKind, job: Manifest, case: Manifest) -> Observed:
    found: dict[str, Any] = {}
    for key, (field, type_) in _SEEN.items():
        entries = case.get(key) or {}
        named = entries.items() if isinstance(entries, dict) else ((name, {}) for name in entries)
        found[field] = tuple(msgspec.convert(_object(job, name, entry or {}), type_) for name, entry in named)
    planning = settings.Planning(
        gang_scheduler=case.get("gangScheduler", ""),
        cluster_domain=case.get("clusterDomain", ""),
        host_ports=tuple(case["hostPorts"]) if "hostPorts" in case else None,
        host_ports_for_all=case.get("hostPortsForAll", False),
        init_image=case.get("initImage", "traincrew:1"),
    )
    known = frozenset((plural, name) for plural, name in (entry.split("/") for entry in case.get("known", [])))
    return Observed(**found, known=known, used_ports=frozenset(case.get("portsTaken", [])), planning=planning)


def _object(job: Manifest, name: str, entry: Manifest) -> Manifest:
    owner = {"kind": job["kind"], "name": job["metadata"]["name"], "uid": job["metadata"]["uid"], "controller": True}
    meta = {"name": name, "namespace": "n", "uid": f"uid-of-{name}", "creationTimestamp": "2026-01-01T12:00:01Z"}
    return {**entry, "metadata": {**meta, "ownerReferences": [owner], **entry.get("metadata", {})}}


def _written(plan: Plan) -> Manifest:
    written: Manifest = {}
    if plan.status is not None:
        written["status"] = msgspec.to_builtins(plan.status)
    if plan.stages:
        written["stages"] = [[_action(action) for action in stage] for stage in plan.stages]
    if plan.events:
        written["events"] = [f"{event.type} {event.reason}: {event.message}" for event in plan.events]
    if plan.requeue_at is not None:
        written["lookAgain"] = plan.requeue_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return written or {"nothing": "to do"}


def _action(action: Action) -> Manifest:
    match action:
        case Create():
            details = {"owned": action.owned, "shared": action.shared, "generate": action.generate}
            unusual = {key: value for key, value in details.items() if value != (key == "owned") and value != ""}
            return {"create": f"{action.resource.plural}/{action.name}", **unusual, "body": action.body}
        case Delete():
            return {"delete": f"{action.resource.plural}/{action.name}", "uid": action.uid}
        case Patch():
            place = f"{action.resource.plural}/{action.name}" + (f"/{action.subresource}" if action.subresource else "")
            return {"patch": place, "body": action.body}
        case ListEvents():
            return {"listEventsOf": f"pods/{action.pod}", "uid": action.uid}


class _Loader(yaml.SafeLoader):
    """Times are strings, as in JSON."""

    yaml_implicit_resolvers = {
        key: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for key, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class _Dumper(yaml.SafeDumper):
    """Multi-line strings are written as blocks, without YAML aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
