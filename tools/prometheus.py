"""Programs of Prometheus: those on PATH, else those of Debian's package, unpacked into the cache.

python -m tools.prometheus promtool ARGUMENT...
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tools.frameworks import debian
from tools.kube import build


def program(name: str) -> Path:
    """`prometheus` or `promtool`. Raises BuildFailed."""
    if found := shutil.which(name):
        return Path(found)
    return debian.unpack(["prometheus"], build.cache() / "prometheus") / "usr" / "bin" / name


if __name__ == "__main__":
    path = os.fspath(program(sys.argv[1]))
    os.execv(path, [path, *sys.argv[2:]])
