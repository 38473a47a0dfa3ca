"""The modules that a command imports and its environment does not have, and the environment of this machine that has them."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence

from traincrew.cli.local_cluster import framework_environments
from traincrew.cli.local_cluster.environments import ImageEnvironment
from traincrew.inspection import package_installation


@dataclasses.dataclass(frozen=True)
class SuitableEnvironment:
    environment: ImageEnvironment
    frameworks: tuple[str, ...]
    """Those among the missing modules. The environment has all of them."""
    lacks: tuple[str, ...]
    """The missing modules that it does not have either."""

    def __str__(self) -> str:
        """The end of a sentence, such as `image NAME does.`"""
        if not self.lacks:
            return f"{self.environment.image} does."
        return f"{self.environment.image} has {', '.join(self.frameworks)} and lacks {', '.join(self.lacks)}."

    def steps(self, what: str, command: str) -> str:
        """What to do now: install the rest, then run the command."""
        if not self.lacks:
            return f"{what}:\n  {command}"
        install = f"Install what provides {', '.join(self.lacks)}"
        return f"{install}:\n  {install_command(self.environment.directory)}\n{what}:\n  {command}"


def find(environments: Sequence[ImageEnvironment], missing: Sequence[str]) -> SuitableEnvironment | None:
    """The environment that has all missing modules, else the one that has all frameworks among them and most of the others.

    Frameworks take minutes to install, and other packages seconds.
    """
    frameworks = framework_environments.frameworks(missing)
    found = [SuitableEnvironment(each, frameworks, _lacks(each, missing)) for each in environments] if missing else []
    usable = [each for each in found if not each.lacks or (frameworks and not set(frameworks) & set(each.lacks))]
    return min(usable, key=lambda each: len(each.lacks), default=None)


def _lacks(environment: ImageEnvironment, modules: Sequence[str]) -> tuple[str, ...]:
    return tuple(module for module in modules if not environment.has_module(module))


PACKAGES = {
    "PIL": "pillow", "bs4": "beautifulsoup4", "cv2": "opencv-python", "skimage": "scikit-image", "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}  # fmt: skip
"""By module: its package, if the names differ."""


def installation(directory: str, missing: Sequence[str]) -> str:
    """The command that installs the missing modules in the environment."""
    modules = dict.fromkeys(module.partition(".")[0] for module in missing)
    packages = shlex.join(PACKAGES.get(module, module) for module in modules)
    return install_command(directory).replace("PACKAGE", packages)


def install_command(directory: str) -> str:
    """Installs PACKAGE in the environment."""
    return package_installation.command(directory) or f"{shlex.quote(f'{directory}/bin/python')} -m pip install PACKAGE"


def warning(what: str, remedy: str, missing: Sequence[str]) -> str:
    return " ".join(filter(None, (f"warning: {what}. {remedy}", framework_environments.on_modules(missing))))


def it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"
