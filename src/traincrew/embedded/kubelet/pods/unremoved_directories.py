"""Directories of deleted pods that could not be removed, for example because something is mounted in them.

They are set aside, so that they are not in the way of other pods and of the next start. `traincrew doctor` reports them.
"""

from __future__ import annotations

import logging
import os
import pathlib

from traincrew.embedded import private_files
from traincrew.embedded.kubelet import volumes
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory

log = logging.getLogger(__name__)


class UnremovedDirectories:
    def __init__(self, root: pathlib.Path, remove: volumes.Remove) -> None:
        self._root, self._remove = root, remove

    def set_aside(self, directory: PodStateDirectory, reason: OSError) -> None:
        """Raises OSError."""
        log.error("directory of a deleted pod not removed", extra={"directory": str(directory.path), "error": str(reason)})
        private_files.ensure_directory(self._root)
        os.rename(directory.path, self._root / directory.uid)

    async def retry(self) -> None:
        for path in sorted(self._root.iterdir()) if self._root.is_dir() else ():
            try:
                await self._remove(path)
            except OSError as error:
                log.error("directory of a deleted pod not removed", extra={"directory": str(path), "error": str(error)})
