"""What `run` says about environments that `make framework-NAME` would build."""

from __future__ import annotations

import pytest
from tools.frameworks import images, recipes

from traincrew.cli.local_cluster import framework_environments
from traincrew.embedded.kubelet.images import image_names


def test_the_list_is_that_of_the_recipes() -> None:
    assert [each.name for each in framework_environments.ENVIRONMENTS] == [each.name for each in recipes.RECIPES]
    patterns = {image_names.parse_pattern(pattern): image.recipe for image in images.IMAGES for pattern in image.patterns}
    for each in framework_environments.ENVIRONMENTS:
        matching = [pattern for pattern in patterns if pattern.matches(image_names.parse(each.image))]
        assert patterns[max(matching, key=lambda pattern: pattern.weight)] == each.name


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("traincrew/horovod-torch", ("`make framework-horovod-torch` in the clone", "then run again.")),
        ("traincrew/torch:latest", ("`make framework-torch`",)),
        ("traincrew/openmpi4", ("`make framework-openmpi4`", "--image traincrew/openmpi.")),
        ("team/torch", ()),
        ("traincrew/torhc", ()),
    ],
)
def test_an_image_of_the_project_is_built_before_it_is_used(image: str, words: tuple[str, ...]) -> None:
    said = framework_environments.on_image(image)
    assert bool(said) == bool(words)
    assert all(word in said for word in words)


@pytest.mark.parametrize(
    ("modules", "name"),
    [
        (("torch", "torch.distributed", "numpy"), "torch"),
        (("horovod.torch", "torch"), "horovod-torch"),
        (("horovod",), "horovod-tensorflow"),
        (("numpy",), ""),
        (("torch", "jax"), ""),
    ],
)
def test_frameworks_that_are_missing_have_an_environment(modules: tuple[str, ...], name: str) -> None:
    said = framework_environments.on_modules(modules)
    assert said.startswith(f"`make framework-{name}` in the clone") if name else said == ""


@pytest.mark.parametrize(
    ("program", "modules", "name"),
    [
        ("horovodrun", ("horovod.torch", "torch"), "horovod-torch"),
        ("horovodrun", (), "horovod-tensorflow"),
        ("mpirun", ("mpi4py",), "openmpi4"),
        ("torchrun", (), "torch"),
        ("nosuchprogram", ("torch",), ""),
    ],
)
def test_launchers_that_are_missing_have_an_environment(program: str, modules: tuple[str, ...], name: str) -> None:
    said = framework_environments.on_program(program, modules)
    assert said.startswith(f"`make framework-{name}` in the clone") if name else said == ""
