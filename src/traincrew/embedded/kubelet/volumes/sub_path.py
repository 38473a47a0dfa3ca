"""subPath: a path in a volume. No symbolic link leads out of the volume."""

from __future__ import annotations

import contextlib
import os
import stat

from traincrew.embedded.kubelet.runtime.rootfs.root_directory import Resolve, RootDirectory


def prepare(volume: str, inner: str) -> None:
    """Creates a missing directory, and fails early. Raises OSError.

    The runtime opens the path again: pods may change the volume in between.
    """
    with contextlib.closing(RootDirectory(volume, Resolve.BENEATH)) as directory:
        mode = stat.S_IMODE(os.fstat(directory.top).st_mode)
        os.close(directory.open(inner, make="directory", mode=mode))
