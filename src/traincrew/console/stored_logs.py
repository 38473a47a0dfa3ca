"""Logs of pods that are deleted: files that the kubelet of this machine keeps, else what the recorder of the cluster has copied.
Whoever may read the logs of pods may read them."""

from __future__ import annotations

import logging
import pathlib
from collections.abc import AsyncIterator, Callable, Iterable, Set
from typing import NamedTuple

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.console.access import AccessReviews
from traincrew.console.history_reader import HistoryReader
from traincrew.inspection import log_files, observed_job
from traincrew.kinds.kind import JobKind
from traincrew.model import meta, objects, resources

log = logging.getLogger(__name__)


class StoredLog(NamedTuple):
    pod: objects.Pod
    """Of a file only name and UID are known."""
    container: str
    lines: Callable[[pod_logs.PodLogOptions], AsyncIterator[list[pod_logs.PodLogLine]]]


class StoredLogs:
    def __init__(self, client: RemoteClient, root: pathlib.Path | None, history: HistoryReader | None = None) -> None:
        """root: the logs of this machine; None: the cluster runs elsewhere, and its history has them."""
        self._root, self._history, self._access = root, history, AccessReviews(client)

    async def root(self, namespace: str) -> pathlib.Path | None:
        """The logs, if the user may read those of pods of the namespace: the files do not ask for rights."""
        if self._root is None or not await self._access.allowed("get", resources.PODS, namespace, "log"):
            return None
        return self._root

    async def of_job(self, kind: JobKind, found: observed_job.ObservedJob, existing: Iterable[str]) -> list[StoredLog]:
        """Those of pods of this job, not of an earlier one of its name, but for the pods that exist (their UIDs)."""
        known = set(existing)
        if self._root is not None:
            return await self._files(kind, found.job.metadata, known)
        return [each for each in await self._recorded(found.job.metadata.uid) if each.pod.metadata.uid not in known]

    async def _recorded(self, job: str) -> list[StoredLog]:
        """The logs of pods that exist go on where no recorder is needed: what is missing here is no error."""
        try:
            logs = await self._history.logs(job) if self._history is not None else []
        except (errors.UserError, errors.ApiError) as error:
            log.info("no logs of deleted pods: %s", error)
            return []
        return [StoredLog(observed_job.decode_pod(each.pod.object), each.container, each.lines) for each in logs]

    async def _files(self, kind: JobKind, job: meta.Meta, known: Set[str]) -> list[StoredLog]:
        root = await self.root(job.namespace)
        if root is None:
            return []
        return [
            _of_file(root, objects.Pod(metadata=meta.Meta(name=each.pod, namespace=job.namespace, uid=each.uid)), container)
            for each in log_files.of_present_job(root, kind, job)
            if each.uid not in known and each.began
            for container in each.containers
        ]


def _of_file(root: pathlib.Path, pod: objects.Pod, container: str) -> StoredLog:
    position = pod_logs.ContainerReference(pod.metadata.namespace, pod.name, container)
    return StoredLog(pod, container, lambda wanted: log_files.lines(root, position, pod.metadata.uid, wanted))
