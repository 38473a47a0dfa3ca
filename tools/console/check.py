"""Checks the sources of the page: Biome, tsc, Vitest. `make check-console` runs it."""

from __future__ import annotations

import sys

from tools.console import node


def main() -> int:
    node.install(with_checks=True)
    codes = [
        node.run("biome", "ci", "--error-on-warnings", ".", check=False),
        node.run("tsc", "--noEmit", check=False),
        node.run("vitest", "run", check=False),
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
