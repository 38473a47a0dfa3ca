"""Remedies, by how a container ended. Those of jobs that wait are in `waiting_advice`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from traincrew.diagnosis.cause import Diagnosis
from traincrew.model.status import Failure

LOCAL_IMAGE = "traincrew.local/default"
"""The image of jobs that are generated from a command: it runs in the environment of the caller."""


class RuntimeEnvironment(NamedTuple):
    """Where a failed replica ran, and what this machine has."""

    image_message: str = ""
    """The kubelet's message about the image."""
    images: Sequence[str] = ()
    """Images of this machine that have the module that is missing."""
    install: str = ""
    """The command that installs PACKAGE in the environment. Empty: its own pip does."""


UNKNOWN_ENVIRONMENT = RuntimeEnvironment()


def on_hang(reference: str, install: str = "") -> str:
    """install: the command that installs py-spy, if it is missing."""
    missing = f" It needs py-spy, which is not installed: run `{install}` first." if install else ""
    return f"Run `traincrew stacks {reference}` to see where each replica is.{missing}"


def on_restarts(job: str, replica: str) -> str:
    """torchrun has restarted its workers after a failure."""
    return (
        f"Fix the failure: `traincrew logs {job} --replica {replica}` shows it. torchrun restarts the workers until "
        f"spec.elasticPolicy.maxRestarts is used up. `traincrew delete {job}` ends the job."
    )


def on_unfinished(job: str) -> str:
    """A process that printed an exception and does not exit."""
    return (
        f"Fix the exception. The process waits for other replicas before it exits, as those of MPI and of jax.distributed do, or "
        f"for a thread of its own: `traincrew stacks {job}` shows where. `traincrew delete {job}` ends the job. A program with "
        f"mpi4py that is started as `python -m mpi4py SCRIPT` ends all ranks at an exception."
    )


def on_unenforced_limit() -> str:
    """A replica that uses more memory than its limit."""
    return (
        "Run `traincrew doctor` on the machine of the pods: it says how the cluster gets cgroups that enforce limits. Where they "
        "are enforced, the replica is OOMKilled: use less memory, or raise `resources.limits.memory` (--memory)."
    )


_ENVIRONMENT = re.compile(r'Image "([^"]+)".*?\benvironment (/.+?)(?= \(images | stands | runs |[;.,](?: |$)|$)')


def directory(image_message: str) -> str:
    """The directory of a pod's environment, from the kubelet's message about its image. Empty: it is not known."""
    match = _ENVIRONMENT.match(image_message)
    return match[2] if match else ""


def environment(runtime: RuntimeEnvironment) -> str:
    """The environment of a pod, and how to change it."""
    if not (match := _ENVIRONMENT.match(runtime.image_message)):
        return "the environment of the image, or use another image"
    image, directory = match.groups()
    own_pip = f"{shlex.quote(f'{directory}/bin/python')} -m pip install PACKAGE"
    install = f"`{runtime.install or own_pip}`"
    if image == LOCAL_IMAGE:
        return f"{directory} ({install}), or run the job in another environment: --env-dir DIR or --requirements FILE"
    other = f"`traincrew image set {shlex.quote(image)} --env-dir DIR`; see docs/frameworks.md"
    return f"{directory}, the environment of image {image} ({install}), or map the image to another environment ({other})"


def _image_with_module(images: Sequence[str]) -> str:
    if not images:
        return ""
    return f" Image {images[0]} has it: use `traincrew run --image {images[0]}`, or `image: {images[0]}` in the manifest."


def on_failure(failure: Failure, diagnosis: Diagnosis | None, runtime: RuntimeEnvironment = UNKNOWN_ENVIRONMENT) -> str:
    """The most specific remedy."""
    if failure.disruption:
        return (
            "Check the node, and who deleted the pod. A disruption does not count as a failure: a running job recreates the pod."
        )
    if diagnosis is None:
        return failure.advice
    if diagnosis.recognizer == "missing-module" and (module := diagnosis.details.get("module")):
        return f"Install {module} in {environment(runtime)}.{_image_with_module(runtime.images)}"
    return diagnosis.advice
