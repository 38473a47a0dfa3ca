"""The job that `traincrew run --kind K -- COMMAND` makes."""

from __future__ import annotations

import dataclasses
import posixpath
import re
from typing import Any

from traincrew import errors
from traincrew.apimachinery import quantities
from traincrew.kinds import KINDS, job_from_command
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs

VOLUME = "here"
GPU = "nvidia.com/gpu"
LONGEST_NAME = 40
"""Of a made name: role, number and a Service's suffix must fit into 63 letters beside it."""


@dataclasses.dataclass(frozen=True)
class Order:
    """What was asked for on the command line."""

    kind: JobKind
    wish: job_from_command.CommandRequest
    name: str
    namespace: str = ""
    image: str = ""
    cpu: str = ""
    memory: str = ""
    env: tuple[tuple[str, str], ...] = ()
    retries: int = 0
    """How often replicas that fail are started again, all of them together; 0: the first failure ends the job."""
    directory: str = ""
    """Mounted at its own path, and where the command runs; empty: nothing is mounted."""


def manifest(order: Order) -> dict[str, Any]:
    try:
        outline = order.kind.from_command(order.wish)
    except job_from_command.NotElastic:
        raise errors.SettingsError(_not_elastic(order)) from None
    replicas = {part.role: _replica(order, outline, part) for part in outline.roles}
    metadata = {"name": order.name, **({"namespace": order.namespace} if order.namespace else {})}
    return {
        "apiVersion": f"{jobs.GROUP}/{order.kind.version}",
        "kind": order.kind.kind,
        "metadata": metadata,
        "spec": {**_policy(order, outline), **outline.spec, order.kind.replicas_field: replicas},
    }


def _policy(order: Order, outline: job_from_command.JobOutline) -> dict[str, Any]:
    # The limit is the restart that is one too many.
    policy: dict[str, Any] = {"backoffLimit": order.retries + 1} if order.retries else {}
    if any(not part.command for part in outline.roles):
        # Those who have no command of their own serve the others, and would go on with their devices when the job is over.
        policy["cleanPodPolicy"] = "Running"
    return {"runPolicy": policy} if policy else {}


def _not_elastic(order: Order) -> str:
    return f"{order.kind.kind} does not support --elastic. Omit --elastic or use {_or(_elastic_kinds())}."


def _elastic_kinds() -> list[str]:
    found = []
    for kind in KINDS:
        try:
            kind.from_command(job_from_command.CommandRequest(("true",), 1, (1, 1)))
        except job_from_command.NotElastic:
            continue
        found.append(kind.kind)
    return found


def _or(words: list[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


def _replica(order: Order, outline: job_from_command.JobOutline, part: job_from_command.RoleOutline) -> dict[str, Any]:
    container: dict[str, Any] = {"name": order.kind.pods.container or part.role.lower(), "image": order.image}
    if part.command:
        container["command"] = list(part.command)
    env = {**outline.env, **dict(order.env)}
    if env:
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    if resources := _resources(order, part):
        container["resources"] = resources
    spec: dict[str, Any] = {"containers": [container]}
    if order.directory:
        container["workingDir"] = order.directory
        container["volumeMounts"] = [{"name": VOLUME, "mountPath": order.directory}]
        spec["volumes"] = [{"name": VOLUME, "hostPath": {"path": order.directory, "type": "Directory"}}]
    policy = "OnFailure" if order.retries else "Never"
    return {"replicas": part.replicas, "restartPolicy": policy, "template": {"spec": spec}}


def _resources(order: Order, part: job_from_command.RoleOutline) -> dict[str, Any]:
    if not part.trains:
        return {}
    gpus = str(order.wish.gpus) if order.wish.gpus else ""
    limits = {name: value for name, value in (("cpu", order.cpu), ("memory", order.memory), (GPU, gpus)) if value}
    return {"limits": limits} if limits else {}


def name_for(command: tuple[str, ...], suffix: str) -> str:
    """Made of the script's name, so that one knows it again: `train-x7k2p` for `python train.py`."""
    words = [posixpath.basename(word) for word in command if not word.startswith("-")]
    script = next((word for word in words if word.endswith((".py", ".sh"))), words[0] if words else "job")
    stem = re.sub(r"[^a-z0-9]+", "-", script.rpartition(".")[0].lower() or script.lower()).strip("-")
    stem = stem if stem[:1].isalpha() else f"job-{stem}".strip("-")
    return f"{stem[:LONGEST_NAME].rstrip('-')}-{suffix}"


def elastic(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    low, colon, high = text.partition(":")
    if not colon or not low.isdecimal() or not high.isdecimal() or not 1 <= int(low) <= int(high):
        raise errors.SettingsError(f"invalid --elastic {text!r}: expected MIN:MAX, such as 1:4")
    return int(low), int(high)


def variables(given: tuple[str, ...], environ: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """NAME=VALUE, or NAME alone for one's own value of it."""
    found = []
    for text in given:
        name, equals, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", name):
            raise errors.SettingsError(f"invalid --env {text!r}: expected NAME=VALUE")
        if not equals and name not in environ:
            raise errors.SettingsError(f"invalid --env {name}: the variable is not set. Use {name}=VALUE.")
        found.append((name, value if equals else environ[name]))
    return tuple(found)


def quantity(flag: str, text: str) -> str:
    if text and not quantities.is_quantity(text):
        raise errors.SettingsError(f"invalid --{flag} {text!r}: expected a quantity such as 2, 500m or 4Gi")
    if text and quantities.nanos(text) <= 0:
        raise errors.SettingsError(f"invalid --{flag} {text!r}: must be greater than 0")
    return text
