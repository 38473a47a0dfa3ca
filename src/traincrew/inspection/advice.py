"""Remedies, by how a container ended. Those of jobs that wait are in `waiting_advice`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from traincrew.diagnosis.cause import Diagnosis
from traincrew.model.status import Failure

LOCAL_IMAGE = "traincrew.local/default"
"""The image of jobs that are generated from a command: it runs in the environment of the caller."""


def on_unfinished(job: str) -> str:
    """A process that printed an exception and does not exit."""
    return (
        f"Fix the exception. The process waits for other replicas before it exits, as that of jax.distributed does for five "
        f"minutes, or for a thread of its own: `traincrew stacks {job}` shows where. `traincrew delete {job}` ends the job."
    )


_ENVIRONMENT = re.compile(r'Image "([^"]+)".*?\benvironment (/.+?)(?= \(images | stands | runs |[;.,](?: |$)|$)')


def environment(image_message: str) -> str:
    """The environment of a pod, from the kubelet's message about its image, and how to change it."""
    if not (match := _ENVIRONMENT.match(image_message)):
        return "the environment of the image, or use another image"
    image, directory = match.groups()
    install = f"`{shlex.quote(f'{directory}/bin/python')} -m pip install PACKAGE`"
    if image == LOCAL_IMAGE:
        return f"{directory} ({install}), or run the job in another environment: --env-dir DIR or --requirements FILE"
    other = f"`traincrew image set {shlex.quote(image)} --env-dir DIR`; see docs/frameworks.md"
    return f"{directory}, the environment of image {image} ({install}), or map the image to another environment ({other})"


def _image_with_module(images: Sequence[str]) -> str:
    if not images:
        return ""
    return f" Image {images[0]} has it: use `traincrew run --image {images[0]}`, or `image: {images[0]}` in the manifest."


def on_failure(failure: Failure, diagnosis: Diagnosis | None, image_message: str = "", images: Sequence[str] = ()) -> str:
    """The most specific remedy.

    image_message: the kubelet's message about the image. images: images of this machine that have the module that is missing.
    """
    if failure.disruption:
        return (
            "Check the node, and who deleted the pod. A disruption does not count as a failure: a running job recreates the pod."
        )
    if diagnosis is None:
        return failure.advice
    if diagnosis.recognizer == "missing-module" and (module := diagnosis.details.get("module")):
        return f"Install {module} in {environment(image_message)}.{_image_with_module(images)}"
    return diagnosis.advice
