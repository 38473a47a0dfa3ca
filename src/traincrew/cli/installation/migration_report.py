"""What `traincrew migrate` prints: sentences while it works, or the steps as a document or as names of objects at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from traincrew.cli.installation.migration_plan import MigrationStep
from traincrew.cli.render import serialization, terminal


class MigrationReport:
    def __init__(self, form: str) -> None:
        self._form = form
        self._steps: list[MigrationStep] = []
        self._document: dict[str, Any] = {"applied": False, "steps": []}

    def sentence(self, text: str) -> None:
        """On standard error if another format is printed on standard output."""
        terminal.echo(text, err=self._form != "text")

    def summary(self, text: str) -> None:
        self._document = {"summary": text, **self._document}
        self.sentence(text)

    def step(self, number: int, step: MigrationStep, *, executed: bool) -> None:
        """executed: it is about to be executed; else the command that does the same is printed."""
        self._steps.append(step)
        self._document["steps"].append({"action": step.action, "text": step.text, "command": step.command})
        self.sentence(f"{number}. {step.text}")
        if not executed:
            self.sentence(f"   {step.command}")

    def done(self, kept: int, ended: Sequence[str]) -> None:
        self._document |= {"applied": True, "runningPods": kept, "endedPods": list(ended)}
        self.sentence(f"Done. {kept} of {kept + len(ended)} running pods are still running.")
        for pod in ended:
            self.sentence(f"not running any more: {pod}")

    def removal(self) -> None:
        """After a Go operator has been stopped for good, its manifests are the obvious and the wrong thing to delete."""
        if not any(step.action == "wait-gone" for step in self._steps):
            return
        self.sentence("")
        self.sentence("The Go operator is stopped, not removed. Do not remove it with `kubectl delete` of its manifests or with")
        self.sentence("`helm uninstall`: they contain the CRDs, and all jobs are deleted with them. How to remove it by name:")
        self.sentence('docs/migrating.md, "Remove the Go operator".')

    def close(self) -> None:
        if self._form in ("json", "yaml"):
            serialization.show(self._document, self._form)
        elif self._form == "name":
            names = dict.fromkeys(name for step in self._steps if (name := _name(step)))
            terminal.echo("".join(f"{name}\n" for name in names), nl=False)


def _name(step: MigrationStep) -> str:
    if step.deployment is not None:
        return f"deployment.apps/{step.deployment.metadata.name}"
    return f"validatingwebhookconfiguration.admissionregistration.k8s.io/{step.name}" if step.name else ""
