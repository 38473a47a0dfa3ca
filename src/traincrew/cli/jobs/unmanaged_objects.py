"""Rejects objects that the embedded cluster stores and does not act on: a job would never run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from traincrew import errors
from traincrew.embedded.apiserver.discovery import documents
from traincrew.embedded.apiserver.registry import unmanaged_kinds
from traincrew.inspection.manifests import ManifestObject

if TYPE_CHECKING:  # a cluster is started before the HTTP library is loaded
    from traincrew.client.remote import RemoteClient


def reject(wanted: Sequence[ManifestObject]) -> None:
    """For the cluster on this machine. Raises ManifestError."""
    if lines := [line for each in wanted if (line := _error(each))]:
        raise errors.ManifestError("\n".join([*lines, "Nothing was submitted. Use `kubectl create` to store such objects."]))


async def reject_if_embedded(wanted: Sequence[ManifestObject], client: RemoteClient) -> None:
    """For a cluster that a kubeconfig names: a real cluster acts on all kinds. Raises ManifestError."""
    if any(_error(each) for each in wanted):
        version = msgspec.json.decode(await client.fetch("/version"))
        if documents.is_embedded(version):
            reject(wanted)


def _error(wanted: ManifestObject) -> str:
    group, _, _ = str(wanted.document.get("apiVersion", "")).rpartition("/")
    text = unmanaged_kinds.warning(group, wanted.document["kind"])
    advice = unmanaged_kinds.advice(group, wanted.document["kind"])
    return f"{wanted.location}: {text}.{' ' if advice else ''}{advice}" if text else ""
