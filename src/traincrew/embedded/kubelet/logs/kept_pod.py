"""What is known of the pod of a log, in a file beside it: the log is kept when the pod is gone."""

from __future__ import annotations

import contextlib
import os
import pathlib
from typing import NamedTuple

import msgspec

from traincrew.apimachinery.unstructured import Object

FILE = "pod.json"


class ControllerRef(NamedTuple):
    """The controller of a pod. Empty: it has none."""

    kind: str = ""
    uid: str = ""


class KeptPod(msgspec.Struct, frozen=True, rename="camel"):
    controller: ControllerRef = ControllerRef()
    secrets_replaced: bool = False
    """Whether the log is without the values of secret variables."""


UNKNOWN = KeptPod()


def read(directory: pathlib.Path) -> KeptPod:
    """directory: of the logs of the pod."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((directory / FILE).read_bytes(), type=KeptPod)
    return UNKNOWN


def create(directory: pathlib.Path, pod: Object) -> None:
    """Writes the file, if there is none."""
    if not (directory / FILE).exists():
        write(directory, KeptPod(_controller(pod)))


def write(directory: pathlib.Path, kept: KeptPod) -> None:
    """Not to the disk at once: without the file, a log is still read."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished = directory / f".{FILE}"
    unfinished.write_bytes(msgspec.json.encode(kept))
    os.replace(unfinished, directory / FILE)


def _controller(pod: Object) -> ControllerRef:
    owners = pod["metadata"].get("ownerReferences") or []
    return next((ControllerRef(each["kind"], each["uid"]) for each in owners if each.get("controller")), ControllerRef())
