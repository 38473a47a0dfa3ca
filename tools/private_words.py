"""Checks that words of a private language do not come back into names and sentences. `make check` runs it.

Kubernetes, Python and machine learning have words for what these words meant.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[1]
INSTEAD = {
    "told": "reported", "tells": "reports", "reckon": "compute", "reckons": "computes", "reckoned": "computed",
    "crew": "replicas, workers", "furniture": "bootstrap", "furnish": "bootstrap", "furnished": "bootstrapped",
    "furnishing": "bootstrap", "guest": "session, client", "guests": "sessions, clients", "door": "socket, listener",
    "doors": "sockets, listeners", "deeds": "binder, executor", "sameness": "equality", "theatre": "test cluster",
    "blame": "failure summary", "telling": "events, recorder", "forge": "template process", "crews": "replicas, workers",
    "mend": "repair", "mended": "repaired", "births": "creations", "voices": "total", "birth": "creation", "thereby": "then",
    "scene": "snapshot, scenario", "scenes": "snapshots, scenarios", "brake": "limit", "brakes": "limits", "wish": "request",
    "wishes": "requests", "vain": "without effect", "leaver": "removed worker", "leavers": "removed workers", "curtain": "probe",
    "anchored": "protected",
}  # fmt: skip
FORMER = "names of earlier releases, whose pods and data directories are adopted"
LINKS = "network links of the cluster have the names crew…"
ALLOWED = {
    "CHANGELOG.md": "names that changed",
    "docs/network.md": LINKS,
    "docs/shim-protocol.md": FORMER,
    "src/traincrew/cli/doctor/leftovers.py": LINKS,
    "src/traincrew/embedded/bootstrap.py": FORMER,
    "src/traincrew/embedded/kubelet/network/bridge.py": LINKS,
    "src/traincrew/embedded/kubelet/network/egress.py": LINKS,
    "src/traincrew/embedded/kubelet/runtime/spec.py": FORMER,
    "src/traincrew/embedded/kubelet/server/pod_streams.py": FORMER,
    "tests/embedded/kubelet/leak_detection.py": LINKS,
    "tests/tools/test_private_words.py": "the test of this check",
    "tools/private_words.py": "the list itself",
}
"""Files that may have such words, and why."""
SUFFIXES = (".py", ".md", ".sh", ".yaml", ".toml")
ELSEWHERE = ("docs/seeds/", "tests/embedded/clients/recorded/")
"""Texts of others."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def find(text: str) -> Iterator[tuple[int, str]]:
    """Lines and words, also those that are parts of an identifier."""
    for number, line in enumerate(text.splitlines(), 1):
        for word in _WORD.findall(line):
            if word.lower() in INSTEAD:
                yield number, word.lower()


def files() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [each for each in listed if each.endswith(SUFFIXES) and not each.startswith(ELSEWHERE) and each not in ALLOWED]


def main() -> int:
    found = 0
    for name in files():
        path = ROOT / name
        for number, word in find(path.read_text() if path.exists() else ""):
            print(f'{name}:{number}: "{word}" is a private word. Write "{INSTEAD[word]}" or what fits better.')
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
