"""Image names, and the precedence of patterns."""

from __future__ import annotations

import pytest

from traincrew.embedded.kubelet.images import image_names

DIGEST = "sha256:" + "a1" * 32


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("python", "docker.io/library/python:latest"),
        ("python:3.11", "docker.io/library/python:3.11"),
        ("kubeflow/tf", "docker.io/kubeflow/tf:latest"),
        ("docker.io/python", "docker.io/library/python:latest"),
        ("index.docker.io/library/python", "docker.io/library/python:latest"),
        ("gcr.io/a/b:v1", "gcr.io/a/b:v1"),
        ("localhost/a", "localhost/a:latest"),
        ("host:5000/a/b", "host:5000/a/b:latest"),
        (f"a@{DIGEST}", f"docker.io/library/a@{DIGEST}"),
        (f"a:1@{DIGEST}", f"docker.io/library/a:1@{DIGEST}"),
    ],
)
def test_names_are_completed(image: str, expected: str) -> None:
    assert str(image_names.parse(image)) == expected


@pytest.mark.parametrize("image", ["", "A", "a b", "a:", "a:b:c", "/a", "a//b", "a@sha256:short", "-a", "a/"])
def test_an_invalid_name_is_rejected(image: str) -> None:
    with pytest.raises(ValueError, match="invalid reference format"):
        image_names.parse(image)


@pytest.mark.parametrize(
    ("pattern", "image", "expected"),
    [
        ("python", "python:3.11", True),
        ("python", "docker.io/library/python", True),
        ("docker.io/library/python:3", "python:3", True),
        ("python:3", "python:3.1", False),
        ("python:3.*", "python:3.1", True),
        ("python:3.?", "python:3.11", False),
        ("*", "gcr.io/a/b:v1", True),
        ("gcr.io/*", "gcr.io/a/b:v1", True),
        ("gcr.io/*", "quay.io/a/b", False),
        ("*/tf*:2.*", "tensorflow/tf-cpu:2.1", True),
        ("pytorch*", "pytorch/pytorch", True),
        ("a.b/c", "axb/c", False),
        ("a", f"a@{DIGEST}", True),
        ("a:latest", f"a@{DIGEST}", False),
        (f"a@{DIGEST}", f"a:1@{DIGEST}", True),
    ],
)
def test_patterns_match_repository_and_tag(pattern: str, image: str, expected: bool) -> None:
    assert image_names.parse_pattern(pattern).matches(image_names.parse(image)) is expected


@pytest.mark.parametrize(
    ("specific", "other"),
    [
        ("a:1", "a"),
        ("a:1", "a:*"),
        ("a:1.*", "a:*"),
        ("a", "a*"),
        ("a", "*:latest"),
        ("gcr.io/team/*", "gcr.io/*"),
        ("gcr.io/*:1", "*"),
        (f"a@{DIGEST}", "a"),
    ],
)
def test_a_more_specific_pattern_has_a_higher_weight(specific: str, other: str) -> None:
    assert image_names.parse_pattern(specific).weight > image_names.parse_pattern(other).weight


@pytest.mark.parametrize("pattern", ["", "a b", "A", "a//b", "a:b:c", "/x"])
def test_patterns_that_match_no_name_are_rejected(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not a pattern of image names"):
        image_names.parse_pattern(pattern)
