"""Replaces secret values in the logs of a pod that is being removed. Later, nobody knows the values any more."""

from __future__ import annotations

import contextlib
import mmap
import os
import pathlib
from collections.abc import Iterable

import msgspec

from traincrew.apimachinery import redaction
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.logs import kept_pod


def replace(directory: pathlib.Path, pod: Object) -> None:
    """directory: of the logs of the pod. What `redaction` removes from the object is not in the logs, either."""
    kept = kept_pod.read(directory)
    if kept.secrets_replaced or not directory.exists():
        return
    values = [each.encode() for each in redaction.secret_values(pod)]
    for path in directory.glob("*/*.log*") if values else ():
        with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
            _replace(file.fileno(), values)
    kept_pod.write(directory, msgspec.structs.replace(kept, secrets_replaced=True))


def _replace(file: int, values: Iterable[bytes]) -> None:
    """In place and without a change of its size: whoever reads the file goes on."""
    if os.fstat(file).st_size == 0:
        return
    with mmap.mmap(file, 0, access=mmap.ACCESS_READ) as content:
        for value in values:
            position = content.find(value)
            while position >= 0:
                os.pwrite(file, substitute(len(value)), position)
                position = content.find(value, position + len(value))


def substitute(length: int) -> bytes:
    return redaction.REDACTED.encode().ljust(length, b"*") if length >= len(redaction.REDACTED) else b"*" * length
