"""Checks the CRDs of the job kinds: installed, established, and as new as this version of traincrew."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import msgspec

from traincrew import errors
from traincrew.cli.doctor.check_result import CheckResult, fail, ok, warn
from traincrew.client import interfaces
from traincrew.kinds.kind import JobKind
from traincrew.model import resources
from traincrew.validation import outdated_crds
from traincrew.validation.crd_install_command import INSTALL

APPLY = f"Run `{INSTALL}`."


async def check(reader: interfaces.Reader, served: Collection[JobKind]) -> list[CheckResult]:
    """served: the kinds of the operators that are installed."""
    found = await asyncio.gather(*(_read(reader, kind) for kind in served))
    problems = [each for each in found if each is not None]
    return problems or [ok("crds", f"{len(served)} CRD{'s are' if len(served) > 1 else ' is'} installed and current")]


async def _read(reader: interfaces.Reader, kind: JobKind) -> CheckResult | None:
    name = f"{kind.plural}.{kind.resource.group}"
    try:
        definition = msgspec.json.decode(await reader.get(resources.CRDS, None, name))
    except errors.NotFound:
        return warn("crds", f"{name} is not installed: {kind.kind}s cannot be created", APPLY)
    except errors.Forbidden as error:
        return warn("crds", f"{name} is not known: {error.message}", "Ask an administrator to run this command.")
    return judge(kind, definition)


def judge(kind: JobKind, definition: dict[str, Any]) -> CheckResult | None:
    name, versions = definition["metadata"]["name"], {each["name"]: each for each in definition["spec"]["versions"]}
    missing = [version for version in (kind.version, *kind.variants) if version not in versions]
    if missing:
        return fail("crds", f"{name} has no version {', '.join(missing)}: it is not the CRD of traincrew", APPLY)
    schema = (versions[kind.version].get("schema") or {}).get("openAPIV3Schema") or {}
    if fields := outdated_crds.missing_status_fields(schema):
        text = outdated_crds.describe(name, fields)
        return fail("crds", f"{text}: it is that of a Go operator or of an older version", APPLY)
    conditions = {each["type"]: each["status"] for each in (definition.get("status") or {}).get("conditions") or ()}
    if conditions.get("Established") != "True":
        return fail("crds", f"{name} is not established", f"Run `kubectl describe crd {name}`.")
    return None
