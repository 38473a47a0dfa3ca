"""The committed schemas of the built-in kinds are those of the API server."""

from __future__ import annotations

import json
import pathlib
import shutil

import pytest
from tools.kube import build, builtins, cluster


@pytest.fixture(scope="module")
def generated(kube: cluster.Cluster) -> dict[str, object]:
    if not isinstance(kube, cluster.OwnCluster) or build.kube() != "1.32":
        pytest.skip("the schemas are those of Kubernetes 1.32")
    return builtins.generate(kube)


def committed(name: str) -> object:
    return json.loads(pathlib.Path(builtins.TARGET, name).read_text())


def test_the_resources_are_the_api_servers(generated: dict[str, object]) -> None:
    assert generated["resources.json"] == committed("resources.json")


def test_the_definitions_are_the_api_servers(generated: dict[str, object]) -> None:
    found, known = generated["builtins.json"], committed("builtins.json")
    assert isinstance(found, dict)
    assert isinstance(known, dict)
    assert found["definitions"] == known["definitions"]


def test_the_descriptions_are_the_api_servers(generated: dict[str, object]) -> None:
    assert generated["descriptions.json"] == committed("descriptions.json")


def test_the_go_types_are_those_of_its_source() -> None:
    if shutil.which("go") is None:
        pytest.skip("no Go here")
    known = committed("builtins.json")
    assert isinstance(known, dict)
    assert builtins.go_types(known["definitions"]) == known["types"]
