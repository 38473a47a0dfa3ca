"""Retention of the logs of deleted pods: limited by age and total size; the oldest are deleted first."""

from __future__ import annotations

import dataclasses
import logging
import pathlib
from collections.abc import Collection, Iterable
from typing import NamedTuple

from traincrew.embedded.file_trees import removal, walk
from traincrew.embedded.kubelet.logs import log_directory

log = logging.getLogger(__name__)

DAY = 86400.0


@dataclasses.dataclass(frozen=True)
class LogRetention:
    days: float
    bytes: int


class AgedLogs(NamedTuple):
    path: pathlib.Path
    written: float
    """Time of the last write, in seconds since the epoch."""
    bytes: int


def expired(logs: Iterable[AgedLogs], rule: LogRetention, now: float) -> list[AgedLogs]:
    """The logs to delete, of pods that no longer exist."""
    kept, removed = 0, []
    for each in sorted(logs, key=lambda log: log.written, reverse=True):
        if now - each.written > rule.days * DAY or kept + each.bytes > rule.bytes:
            removed.append(each)
        else:
            kept += each.bytes
    return removed


def sweep(root: pathlib.Path, living: Collection[str], rule: LogRetention, now: float) -> list[AgedLogs]:
    """living: uids of existing pods, whose logs are kept."""
    aged = [_aged(each.path) for each in log_directory.list_pod_logs(root) if each.uid not in living]
    removed = expired(aged, rule, now)
    for each in removed:
        try:
            removal.remove_tree(each.path)
        except OSError as error:
            log.error("logs of a deleted pod are not removed", extra={"error": str(error)})
    return removed


def _aged(path: pathlib.Path) -> AgedLogs:
    written, size = path.stat().st_mtime, 0
    for each in walk.walk(path):
        if not each.is_directory:
            written, size = max(written, each.status.st_mtime), size + each.status.st_size
    return AgedLogs(path, written, size)
