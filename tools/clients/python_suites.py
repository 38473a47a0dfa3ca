"""The tests in the source distributions of Python clients, as far as they use a cluster."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.clients import exceptions, python_environments
from tools.clients.python_environments import Environment
from tools.clients.results import ClientResult, from_junit

STAND_INS = Path(__file__).resolve().parent / "stand_ins"
SECONDS = 1800


@dataclass(frozen=True)
class Suite:
    client: str
    arguments: tuple[str, ...]
    """Of pytest; empty: the source distribution has no tests."""
    missing: str = ""
    """What the source distribution lacks."""
    e2e_bases: Mapping[str, str] = field(default_factory=dict)
    """Folder that lacks its module `base` → the stand-in."""


SUITES = (
    Suite("kr8s", ("kr8s", "-o", "addopts=", "-p", "pytest_kind", "--timeout", "60")),
    Suite("lightkube", (), "the source distribution has no tests"),
    # kopf ends its event loop without waiting until its TLS connections are closed. Its tests fail if the reply comes later.
    Suite(
        "kopf",
        ("tests/e2e", "examples", "--only-e2e", "--timeout", "120", "-W", "default::pytest.PytestUnraisableExceptionWarning"),
    ),
    Suite(
        "kubernetes",
        (
            "kubernetes/dynamic/test_client.py", "kubernetes/dynamic/test_discovery.py",
            "kubernetes/aio/dynamic/client_test.py", "kubernetes/aio/dynamic/discovery_test.py",
        ),
        e2e_bases={"kubernetes/e2e_test": "e2e_base.py", "kubernetes/aio/e2e_test": "aio_e2e_base.py"},
    ),
)  # fmt: skip


class NoReport(Exception):
    """The tests ended before they wrote their results."""


def run(suite: Suite, cluster: Mapping[str, str]) -> ClientResult:
    """cluster: the environment of clients. Raises BuildFailed, NoReport and TimeoutExpired."""
    found = python_environments.environment(suite.client)
    if not suite.arguments:
        return ClientResult(suite.client, found.version, skipped=(suite.missing,))
    not_run = exceptions.of(suite.client)
    with tempfile.TemporaryDirectory() as work:
        report = Path(work) / "report.xml"
        for folder, stand_in in suite.e2e_bases.items():
            _add_base(found.source / folder, STAND_INS / stand_in)
        code = _pytest(suite, found, cluster, [*_deselect(not_run), f"--junit-xml={report}"])
        if not report.exists():
            raise NoReport(f"pytest ended with exit code {code} and without a report")
        return from_junit(suite.client, found.version, report.read_text(), not_run)


def _deselect(not_run: Mapping[str, str]) -> list[str]:
    return [flag for test in not_run for flag in ("--deselect", test)]


def _add_base(folder: Path, stand_in: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").touch()
    (folder / "base.py").write_text(stand_in.read_text())


def _pytest(suite: Suite, found: Environment, cluster: Mapping[str, str], flags: list[str]) -> int:
    command = [str(found.python), "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *suite.arguments, *flags]
    path = f"{found.source}:{STAND_INS}"
    own = {**cluster, "PYTHONPATH": path, "PATH": f"{found.python.parent}:{cluster['PATH']}"}
    done = subprocess.run(command, cwd=found.source, env=own, check=False, timeout=SECONDS, stdout=sys.stderr)
    return done.returncode
