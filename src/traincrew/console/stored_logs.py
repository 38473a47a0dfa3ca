"""Logs that the kubelet of this machine keeps of pods that are deleted. Whoever may read the logs of pods may read them."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.console.access import AccessReviews
from traincrew.inspection import log_files, observed_job
from traincrew.kinds.kind import JobKind
from traincrew.model import meta, objects, resources


class StoredLog(NamedTuple):
    pod: objects.Pod
    """Name and UID: nothing else is known."""
    container: str


class StoredLogs:
    def __init__(self, client: RemoteClient, root: pathlib.Path | None) -> None:
        """root: the logs of this machine; None: the cluster runs elsewhere."""
        self._root, self._access = root, AccessReviews(client)

    async def root(self, namespace: str) -> pathlib.Path | None:
        """The logs, if the user may read those of pods of the namespace: the files do not ask for rights."""
        if self._root is None or not await self._access.allowed("get", resources.PODS, namespace, "log"):
            return None
        return self._root

    async def of_job(self, kind: JobKind, found: observed_job.ObservedJob, existing: Iterable[str]) -> list[StoredLog]:
        """Those of pods of this job, not of an earlier one of its name, but for the pods that exist (their UIDs)."""
        job = found.job.metadata
        root = await self.root(job.namespace)
        if root is None:
            return []
        known = set(existing)
        return [
            StoredLog(objects.Pod(metadata=meta.Meta(name=each.pod, namespace=job.namespace, uid=each.uid)), container)
            for each in log_files.of_present_job(root, kind, job)
            if each.uid not in known and each.began
            for container in each.containers
        ]

    def lines(self, log: StoredLog, wanted: pod_logs.PodLogOptions) -> AsyncIterator[list[pod_logs.PodLogLine]]:
        assert self._root is not None
        position = pod_logs.ContainerReference(log.pod.metadata.namespace, log.pod.name, log.container)
        return log_files.lines(self._root, position, log.pod.metadata.uid, wanted)
