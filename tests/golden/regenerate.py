"""Regenerates every golden plan: run `python -m tests.golden.regenerate`, then read the diff."""

from __future__ import annotations

from tests.golden import cases


def main() -> None:
    wanted = {cases.golden(path): cases.planned(path) for path in cases.paths()}
    for stale in set(cases.HERE.glob("*.plan.yaml")) - set(wanted):
        stale.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(path.name)


if __name__ == "__main__":
    main()
