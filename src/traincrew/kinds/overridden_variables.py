"""Variables of a template that contradict those that the operator sets: a wrong world size makes all replicas wait for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from traincrew import settings
from traincrew.kinds import violations
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Env, Manifest, Replica
from traincrew.kinds.rule import Violation, unenforced
from traincrew.model import jobs

SIZES = ("WORLD_SIZE", "NUM_PROCESSES", "PADDLE_NNODES")
"""Numbers of processes. A command that sets another one waits for processes that do not exist."""
_ASSIGNED = re.compile(rf"(?<![\w-])(?P<name>{'|'.join(SIZES)})=[\"']?(?P<value>\d+)\b")
_OPTION = re.compile(r"(?<!\S)(?P<option>--world[-_]size)[=\s]\s*(?P<value>\d+)(?!\S)")
MAX_VALUE = 60
"""Characters of a value that is repeated in a message."""


def of_job(kind: JobKind, job: jobs.Job) -> Iterator[Violation]:
    for name, role in job.roles.items():
        found = kind.role(name)
        spec = role.parsed.get("spec")
        # A negative number is an error of its own.
        if found is None or not job.count(name) or not isinstance(spec, dict):
            continue
        env = kind.pods.env(Replica(job, found, 0, settings.Planning()))
        for key, _ in violations.entries(kind, job, name):
            path = f"{violations.replica_path(kind, key)}.template.spec.containers"
            for index, container in _containers(kind, spec):
                yield from _variables(f"{path}[{index}].env", container, env, alone=role.replicas == 1)
                yield from _command(f"{path}[{index}]", container, env)


def _containers(kind: JobKind, spec: Manifest) -> Iterator[tuple[int, Manifest]]:
    """The containers to which the operator adds variables."""
    listed = [(index, each) for index, each in enumerate(_list(spec, "containers")) if isinstance(each, dict)]
    main = [each for each in listed if each[1].get("name") == kind.pods.container] or listed[:1]
    yield from listed if kind.pods.env_in == "all" else main[:1]


def _variables(path: str, container: Manifest, env: Env, *, alone: bool) -> Iterator[Violation]:
    """alone: the role has one replica. Of several replicas each may have a value of its own."""
    for index, entry in enumerate(_list(container, "env")):
        name = entry.get("name") if isinstance(entry, dict) else None
        value = env.get(name) if name is not None else None
        if value is None or isinstance(value, Mapping) or entry.get("value") == str(value):
            continue
        given = f"{name}={entry['value']}" if len(str(entry.get("value") or "")) in range(1, MAX_VALUE) else name
        ours = f"{name}={value}" if (alone or name in SIZES) and len(str(value)) < MAX_VALUE else "the variable"
        yield unenforced(f"{path}[{index}]", f"{given} is ignored: the operator sets {ours}")


def _command(path: str, container: Manifest, env: Env) -> Iterator[Violation]:
    size = next((str(env[name]) for name in SIZES if env.get(name) is not None), "")
    for field in ("command", "args") if size else ():
        words = " ".join(str(word) for word in _list(container, field))
        for match in (*_ASSIGNED.finditer(words), *_OPTION.finditer(words)):
            if match["value"] != size:
                message = (
                    f"{match[0].strip()} differs from the {size} processes of the job: the replicas wait for each other for ever"
                )
                yield unenforced(f"{path}.{field}", f"{message}. Remove it, or change the number of replicas.")


def _list(manifest: Manifest, field: str) -> list[Any]:
    """Templates of invalid jobs have anything anywhere."""
    found = manifest.get(field)
    return found if isinstance(found, list) else []
