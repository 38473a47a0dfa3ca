"""The real helm and kustomize, and what they render."""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
from typing import Any

import yaml
from tools.clients import go_programs

Object = dict[str, Any]
ROOT = pathlib.Path(__file__).parents[2]
CHART = ROOT / "charts" / "traincrew"
IMAGE = '--set-json=image.repository="registry.example.com/team/traincrew"'
"""The one value that has no default."""


class Helm:
    """Runs helm with a home of its own: no repository, plugin or kubeconfig of the machine is used."""

    def __init__(self, home: pathlib.Path, kubeconfig: pathlib.Path | None = None) -> None:
        self._home, self._kubeconfig = home, kubeconfig

    def __call__(self, *arguments: str | pathlib.Path, input: str | None = None) -> subprocess.CompletedProcess[str]:
        """The exit code is the caller's to look at."""
        where = {"HOME": str(self._home), "KUBECONFIG": str(self._kubeconfig or self._home / "none")}
        command = [str(go_programs.program("helm")), *map(str, arguments)]
        return subprocess.run(
            command, env={**os.environ, **where}, input=input, capture_output=True, text=True, check=False, cwd=ROOT
        )

    def succeed(self, *arguments: str | pathlib.Path) -> str:
        done = self(*arguments)
        assert done.returncode == 0, f"helm {arguments}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def render(self, *flags: str, release: str = "traincrew") -> dict[tuple[str, str], Object]:
        """The rendered objects by kind and name."""
        return by_name(self.succeed("template", release, CHART, IMAGE, *flags))

    def failure(self, *flags: str, image: bool = True) -> str:
        done = self("template", "traincrew", CHART, *([IMAGE] if image else []), *flags)
        assert done.returncode != 0, f"{flags} are accepted"
        return done.stderr


def kustomize(directory: pathlib.Path) -> str:
    command = [str(go_programs.program("kustomize")), "build", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def by_name(text: str) -> dict[tuple[str, str], Object]:
    return {(each["kind"], each["metadata"]["name"]): each for each in documents(text)}


@functools.lru_cache(maxsize=8)
def documents(text: str) -> list[Object]:
    return [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]


def permissions(*roles: Object) -> set[tuple[str, str, str, str]]:
    """Verb, group, resource and name of every rule. Without a name it is for all objects."""
    return {
        (verb, group, resource, name)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }
