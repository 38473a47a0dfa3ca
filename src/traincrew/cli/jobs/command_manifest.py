"""The manifest that `traincrew run --kind K -- COMMAND` generates."""

from __future__ import annotations

import dataclasses
import posixpath
import re
from typing import Any

from traincrew import errors
from traincrew.apimachinery import quantities
from traincrew.kinds import KINDS, elasticity, job_from_command
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, naming

VOLUME = "workdir"
GPU = "nvidia.com/gpu"
MAX_NAME_LENGTH = 40
"""Maximum length of a generated name: with role, index and a suffix it must fit into 63 characters."""


@dataclasses.dataclass(frozen=True)
class CommandJob:
    """The options of the command line."""

    kind: JobKind
    request: job_from_command.CommandRequest
    name: str
    namespace: str = ""
    image: str = ""
    cpu: str = ""
    memory: str = ""
    env: tuple[tuple[str, str], ...] = ()
    directory: str = ""
    """Working directory, mounted at the same path. Empty: no mount."""


def manifest(job: CommandJob) -> dict[str, Any]:
    if job.request.idle and job.request.elastic is None:
        raise errors.SettingsError("--idle requires --elastic MIN:MAX, such as --elastic 1:4")
    try:
        outline = job.kind.from_command(job.request)
    except job_from_command.NotElastic:
        raise errors.SettingsError(_not_elastic(job)) from None
    replicas = {outline_role.role: _replica(job, outline, outline_role) for outline_role in outline.roles}
    metadata: dict[str, Any] = {"name": job.name, **({"namespace": job.namespace} if job.namespace else {})}
    if job.request.idle:
        metadata["annotations"] = {naming.SCALING: elasticity.IDLE}
    return {
        "apiVersion": f"{jobs.GROUP}/{job.kind.version}",
        "kind": job.kind.kind,
        "metadata": metadata,
        "spec": {**_policy(job, outline), **outline.spec, job.kind.replicas_field: replicas},
    }


def _policy(job: CommandJob, outline: job_from_command.JobOutline) -> dict[str, Any]:
    # The job fails at the restart whose number is the limit.
    policy: dict[str, Any] = {"backoffLimit": job.request.retries + 1} if job.request.retries else {}
    if any(not outline_role.command for outline_role in outline.roles):
        # Roles without a command serve the others. They would keep running, and keep their devices, after the job has finished.
        policy["cleanPodPolicy"] = "Running"
    return {"runPolicy": policy} if policy else {}


def _not_elastic(job: CommandJob) -> str:
    with_elastic, with_idle = elastic_kinds(idle=False), elastic_kinds(idle=True)
    if job.request.idle and job.kind.kind in with_elastic:
        return f"{job.kind.kind} does not support --idle. Omit --idle or use --kind {_join_or(with_idle)}."
    kinds = with_idle if job.request.idle else with_elastic
    return f"{job.kind.kind} does not support --elastic. Omit --elastic or use {_join_or(kinds)}."


def elastic_kinds(*, idle: bool) -> list[str]:
    """Kinds whose number of workers may change. idle: also by a choice of the operator."""
    found = []
    for kind in KINDS:
        try:
            kind.from_command(job_from_command.CommandRequest(("true",), 1, (1, 1), idle=idle))
        except job_from_command.NotElastic:
            continue
        found.append(kind.kind)
    return found


def _join_or(words: list[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


def _replica(job: CommandJob, outline: job_from_command.JobOutline, outline_role: job_from_command.RoleOutline) -> dict[str, Any]:
    container: dict[str, Any] = {"name": job.kind.pods.container or outline_role.role.lower(), "image": job.image}
    if outline_role.command:
        container["command"] = list(outline_role.command)
    env = {**outline.env, **dict(job.env)}
    if env:
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    if resources := _resources(job, outline_role):
        container["resources"] = resources
    spec: dict[str, Any] = {"containers": [container]}
    if job.directory:
        container["workingDir"] = job.directory
        container["volumeMounts"] = [{"name": VOLUME, "mountPath": job.directory}]
        spec["volumes"] = [{"name": VOLUME, "hostPath": {"path": job.directory, "type": "Directory"}}]
    policy = "OnFailure" if job.request.retries else "Never"
    return {"replicas": outline_role.replicas, "restartPolicy": policy, "template": {"spec": spec}}


def _resources(job: CommandJob, outline_role: job_from_command.RoleOutline) -> dict[str, Any]:
    if not outline_role.trains:
        return {}
    gpus = str(job.request.gpus) if job.request.gpus else ""
    limits = {name: value for name, value in (("cpu", job.cpu), ("memory", job.memory), (GPU, gpus)) if value}
    if not limits and job.request.idle:
        return {"requests": {"cpu": "1"}}  # what is idle is judged by requests
    return {"limits": limits} if limits else {}


def generate_name(command: tuple[str, ...], suffix: str) -> str:
    """A name from the name of the script: `train-x7k2p` for `python train.py`."""
    words = [posixpath.basename(word) for word in command if not word.startswith("-")]
    script = next((word for word in words if word.endswith((".py", ".sh"))), words[0] if words else "job")
    stem = re.sub(r"[^a-z0-9]+", "-", script.rpartition(".")[0].lower() or script.lower()).strip("-")
    stem = stem if stem[:1].isalpha() else f"job-{stem}".strip("-")
    return f"{stem[:MAX_NAME_LENGTH].rstrip('-')}-{suffix}"


def parse_elastic(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    low, colon, high = text.partition(":")
    if not colon or not low.isdecimal() or not high.isdecimal() or not 1 <= int(low) <= int(high):
        raise errors.SettingsError(f"invalid --elastic {text!r}: expected MIN:MAX, such as 1:4")
    return int(low), int(high)


def number_of_workers(given: int | None, elastic: tuple[int, int] | None) -> int:
    """The initial number. Default: 1, or the minimum of an elastic job."""
    if elastic is None:
        return 1 if given is None else given
    low, high = elastic
    if given is not None and not low <= given <= high:
        raise errors.SettingsError(
            f"--workers {given} contradicts --elastic {low}:{high}: an elastic job starts with {low} to {high} workers. "
            f"Use --workers {min(max(given, low), high)}, or omit --workers to start with {low}."
        )
    return low if given is None else given


def parse_quantity(flag: str, text: str) -> str:
    if text and not quantities.is_quantity(text):
        raise errors.SettingsError(f"invalid --{flag} {text!r}: expected a quantity such as 2, 500m or 4Gi")
    if text and quantities.nanos(text) <= 0:
        raise errors.SettingsError(f"invalid --{flag} {text!r}: must be greater than 0")
    return text
