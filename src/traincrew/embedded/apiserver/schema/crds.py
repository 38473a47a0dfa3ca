"""CustomResourceDefinitions: the resources that they define, and the acceptance of their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from traincrew.apimachinery.resource_info import Column, ResourceInfo, Subresource
from traincrew.apimachinery.structural.schemas import PRESERVE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.discovery.version_priority import version_key
from traincrew.embedded.apiserver.schema import cel_limits, custom_resources

AGE = Column(
    name="Age",
    type="date",
    path=".metadata.creationTimestamp",
    description="For how long the object has been there, by the server's clock.",
)
"""The default printer column."""

ANYTHING = {"type": "object", PRESERVE: True}
_WRITTEN = ("get", "patch", "update")


def default(crd: Object) -> None:
    """Sets defaults in place."""
    spec = crd.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    for version in spec.get("versions") or ():
        if not version.get("deprecated"):
            version.pop("deprecated", None)
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def storage_version(crd: Object) -> str:
    return next((version.get("name", "") for version in crd["spec"].get("versions") or () if version.get("storage")), "")


def stored_versions(crd: Object, before: Iterable[str] = ()) -> list[str]:
    """Versions that objects may be stored in: the earlier ones and the storage version."""
    versions = [*before]
    storage = storage_version(crd)
    return [*versions, storage] if storage and storage not in versions else versions


def revision(crd: Object) -> int:
    return int(crd["metadata"].get("resourceVersion") or 0)


def resources(crd: Object, since: int = 0) -> tuple[ResourceInfo, ...]:
    """The resource in each of its served versions, under its accepted names (or the requested ones, before acceptance).

    since: objects from this revision on are known to conform to the schema.
    """
    spec = crd["spec"]
    names = {**spec["names"], **(crd.get("status", {}).get("acceptedNames") or {})}
    return tuple(_served(crd, names, version, since) for version in spec["versions"] if version.get("served"))


def _served(crd: Object, names: Object, version: Object, since: int) -> ResourceInfo:
    spec = crd["spec"]
    storage = storage_version(crd)
    schemas = {entry["name"]: (entry.get("schema") or {}).get("openAPIV3Schema") or ANYTHING for entry in spec["versions"]}
    return ResourceInfo(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        schema=schemas[version["name"]],
        stored_schema=schemas[storage],
        since=since,
        deprecation=_deprecation(crd, version) if version.get("deprecated") else "",
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(_subresources(names["kind"], version.get("subresources") or {})),
        columns=tuple(_column(column) for column in version.get("additionalPrinterColumns") or ()) or (AGE,),
        storage_version="" if storage == version["name"] else storage,
        definition=crd,
        selectable=tuple(field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ()),
    )


def _deprecation(crd: Object, version: Object) -> str:
    if message := version.get("deprecationWarning"):
        return str(message)
    group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
    others = [other["name"] for other in crd["spec"]["versions"] if other.get("served") and not other.get("deprecated")]
    better = max(others, key=version_key, default="")
    message = f"{group}/{version['name']} {kind} is deprecated"
    if not better or version_key(better) < version_key(version["name"]):
        return message
    return f"{message}; use {group}/{better} {kind}"


def _subresources(kind: str, given: Object) -> Iterable[Subresource]:
    if given.get("status") is not None:
        yield Subresource("status", kind, _WRITTEN)
    if given.get("scale") is not None:
        yield Subresource("scale", "Scale", _WRITTEN, "autoscaling", "v1")


def _column(given: Object) -> Column:
    return Column(
        name=given["name"],
        type=given["type"],
        path=given["jsonPath"],
        description=given.get("description") or _COLUMN_DESCRIPTION.format(path=given["jsonPath"]),
        format=given.get("format", ""),
        priority=given.get("priority", 0),
    )


_COLUMN_DESCRIPTION = "Custom resource definition column (in JSONPath format): {path}"


def accept_names(crd: Object, others: Iterable[Object], now: str, sound: bool = False) -> Object:
    """The status of a definition after comparing its names with those of the other definitions of its group.

    Conditions keep their transition time if their status stays. sound: all its rules are known to be enforced.
    """
    status: Object = dict(crd.get("status") or {})
    accepted, error = _accept_names(crd, [entry for entry in others if entry["spec"].get("group") == crd["spec"].get("group")])
    conditions = [dict(entry) for entry in status.get("conditions") or ()]
    if error:
        _set(conditions, _condition("NamesAccepted", "False", error[0], error[1]), now)
        if not _is_true(conditions, "Established"):
            _set(conditions, _condition("Established", "False", "NotAccepted", "not all names are accepted"), now)
    else:
        _set(conditions, _condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"), now)
        if not _is_true(conditions, "Established"):
            message = "the initial names have been accepted"
            _set(conditions, _condition("Established", "True", "InitialNamesAccepted", message), now)
    _unenforced_condition([] if sound else unenforced_rules(crd), conditions, now)
    return {
        **status,
        "conditions": conditions,
        "acceptedNames": accepted,
        "storedVersions": stored_versions(crd, status.get("storedVersions") or ()),
    }


def _accept_names(crd: Object, others: Iterable[Object]) -> tuple[Object, tuple[str, str] | None]:
    requested, previous = crd["spec"].get("names") or {}, (crd.get("status") or {}).get("acceptedNames") or {}
    accepted_by_others = [(each.get("status") or {}).get("acceptedNames") or {} for each in others if each is not crd]
    resources = {
        name
        for each in accepted_by_others
        for name in (each.get("plural"), each.get("singular"), *(each.get("shortNames") or ()))
    }
    kinds = {name for each in accepted_by_others for name in (each.get("kind"), each.get("listKind"))}
    names, error = dict(previous), None
    for key, used, reason in (
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("shortNames", resources, "ShortNamesConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ):
        clashes = [name for name in _list(requested.get(key)) if name in used and name not in _list(previous.get(key))]
        if clashes:
            messages = [f'"{name}" is already in use' for name in clashes]
            error = (reason, messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")
        else:
            names[key] = requested.get(key)
    names["categories"] = requested.get("categories")
    empty = {"plural": "", "kind": ""}  # these two are written even if empty
    return empty | {key: value for key, value in names.items() if value}, error


def _list(names: Any) -> list[str]:
    return list(names) if isinstance(names, list) else [names] if names else []


def _condition(type_: str, status: str, reason: str, message: str) -> Object:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def _is_true(conditions: list[Object], type_: str) -> bool:
    return any(condition["type"] == type_ and condition["status"] == "True" for condition in conditions)


def _set(conditions: list[Object], condition: Object, now: str) -> None:
    for index, current in enumerate(conditions):
        if current["type"] == condition["type"]:
            same = current["status"] == condition["status"]
            conditions[index] = {**condition, "lastTransitionTime": current["lastTransitionTime"] if same else now}
            return
    conditions.append({**condition, "lastTransitionTime": now})


UNENFORCED = "ValidationRulesUnenforced"
"""The condition that reports validation rules which cannot be compiled. kube-apiserver does not have it."""


def _unenforced_condition(messages: list[str], conditions: list[Object], now: str) -> None:
    conditions[:] = [condition for condition in conditions if condition["type"] != UNENFORCED or messages]
    if messages:
        _set(conditions, _condition(UNENFORCED, "True", "CannotCompile", "; ".join(messages)[:4096]), now)


def unenforced_rules(crd: Object) -> list[str]:
    """The validation rules that are accepted but not enforced, each with the reason, for warnings."""
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") or {} for version in crd["spec"].get("versions") or ()]
    if cel_limits.exceeded(schemas):  # the definition is not valid
        return []
    with_rules = [schema for schema in schemas if cel_limits.count_tokens(schema)]
    return list(dict.fromkeys(message for schema in with_rules for message in custom_resources.unenforced_rules(schema)))
