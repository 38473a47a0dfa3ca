"""In place of pytest-kind, which creates a cluster with kind: the cluster that is tested runs already."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep-cluster", action="store_true", dest="keep_cluster", default=True)
