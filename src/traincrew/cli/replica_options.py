"""--replica and --container: where in a job a verb acts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from traincrew.cli import completions

F = TypeVar("F", bound=Callable[..., Any])

FIRST_RUNNING = "Replica to use, such as worker-0. Default: the first running replica."
TRAINING_CONTAINER = "Container to use. Default: the training container."


def replica(help: str = FIRST_RUNNING) -> Callable[[F], F]:
    return click.option("--replica", metavar="NAME", default="", shell_complete=completions.replicas, help=help)


def container(help: str = TRAINING_CONTAINER) -> Callable[[F], F]:
    return click.option("-c", "--container", metavar="NAME", default="", help=help)
