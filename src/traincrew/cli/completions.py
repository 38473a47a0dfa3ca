"""Shell completion of job names, replicas, kinds, images and environments.

A completion never fails and never waits long: without an answer of the cluster there are no suggestions.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem, split_arg_string

from traincrew import errors
from traincrew.cli import cluster_target

TIMEOUT_SECONDS = 3.0

T = TypeVar("T")


def jobs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """NAME, and KIND/NAME after the kind. Jobs that are on the command line already are left out."""
    given = context.params.get(parameter.name or "") or ()
    taken = set(given) if isinstance(given, tuple) else set()
    found = [each for each in _jobs(context) if "/" in incomplete or "/" not in each.value]
    return [each for each in found if each.value.startswith(incomplete) and each.value not in taken]


def remote_paths(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """JOB: or a local file."""
    if ":" in incomplete:
        return []
    return [
        CompletionItem(incomplete, type="file"),
        *(CompletionItem(f"{each.value}:") for each in jobs(context, parameter, incomplete)),
    ]


def replicas(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The replicas and roles of the job on the command line."""
    from traincrew.cli.jobs import shell_completion

    job = str(_complete_context(context).params.get("job") or "")
    query = shell_completion.replica_names(job, _target_options(_complete_context(context))) if job else None
    return _starting_with(_answer(query) if query is not None else (), incomplete)


def kinds(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from traincrew.kinds import KINDS

    return [CompletionItem(kind.kind) for kind in KINDS if kind.kind.lower().startswith(incomplete.lower())]


def images(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Images that are mapped to environments on this machine, up to their first wildcard."""
    patterns = (pattern.partition("*")[0].partition("?")[0] for pattern, _ in _image_mappings())
    return _starting_with(patterns, incomplete)


def image_patterns(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _starting_with((pattern for pattern, _ in _image_mappings()), incomplete)


def environments(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The environments of images, and other directories."""
    known = _starting_with((environment for _, environment in _image_mappings()), incomplete)
    return [*known, CompletionItem(incomplete, type="dir")]


def _image_mappings() -> list[tuple[str, str]]:
    """Pattern and environment."""
    from traincrew.cli.local_cluster import image_mappings

    with contextlib.suppress(errors.TraincrewError, OSError):
        return [(entry.pattern, entry.environment) for _, entry in image_mappings.entries("", False)]
    return []


def _jobs(context: click.Context) -> list[CompletionItem]:
    from traincrew.cli.jobs import shell_completion

    named = _answer(shell_completion.job_names(_target_options(context)))
    return [
        *(CompletionItem(name, help=state) for kind, name, state in named),
        *(CompletionItem(f"{kind}/{name}", help=state) for kind, name, state in named),
    ]


def _answer(query: Coroutine[Any, Any, list[T]]) -> list[T]:
    async def limited() -> list[T]:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await query

    with contextlib.suppress(errors.TraincrewError, TimeoutError, OSError):
        return asyncio.run(limited())
    return []


def _complete_context(context: click.Context) -> click.Context:
    """The context without the option whose value is typed at the moment: click does not read arguments before it."""
    words = split_arg_string(os.environ.get("COMP_WORDS", ""))
    arguments = words[2 : int(os.environ.get("COMP_CWORD") or 0)]
    if not arguments or not arguments[-1].startswith("-"):
        return context
    return context.command.make_context(context.info_name, arguments[:-1], parent=context.parent, resilient_parsing=True)


def _target_options(context: click.Context) -> cluster_target.TargetOptions:
    names = ("kubeconfig", "context", "namespace", "data")
    return cluster_target.TargetOptions(**{name: str(context.params.get(name) or "") for name in names})


def _starting_with(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(each) for each in dict.fromkeys(values) if each and each.startswith(incomplete)]
