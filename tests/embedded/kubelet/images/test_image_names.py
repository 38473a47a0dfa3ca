"""Image names, and which of several patterns is taken."""

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
def test_what_is_no_name_is_refused(image: str) -> None:
    with pytest.raises(ValueError, match="invalid reference format"):
        image_names.parse(image)


@pytest.mark.parametrize(
    ("pattern", "image", "fits"),
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
def test_patterns_fit_repository_and_tag(pattern: str, image: str, fits: bool) -> None:
    assert image_names.parse_pattern(pattern).matches(image_names.parse(image)) is fits


@pytest.mark.parametrize(
    ("closer", "other"),
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
def test_the_closest_pattern_weighs_most(closer: str, other: str) -> None:
    assert image_names.parse_pattern(closer).weight > image_names.parse_pattern(other).weight


@pytest.mark.parametrize("pattern", ["", "a b", "A", "a//b", "a:b:c", "/x"])
def test_patterns_that_fit_no_name_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="not like an image's name"):
        image_names.parse_pattern(pattern)
