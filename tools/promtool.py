"""promtool of Prometheus: the one on PATH, else that of Debian's package, unpacked into the cache.

python -m tools.promtool ARGUMENT...
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tools.frameworks import debian
from tools.kube import build


def program() -> Path:
    """Raises BuildFailed."""
    if found := shutil.which("promtool"):
        return Path(found)
    return debian.unpack(["prometheus"], build.cache() / "prometheus") / "usr" / "bin" / "promtool"


if __name__ == "__main__":
    path = os.fspath(program())
    os.execv(path, [path, *sys.argv[1:]])
