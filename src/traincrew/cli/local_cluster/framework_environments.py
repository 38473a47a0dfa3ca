"""The environments that `make framework-NAME` builds in a clone of the project, for advice before they are built. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

MPI = ("mpirun", "mpiexec")


@dataclasses.dataclass(frozen=True)
class FrameworkEnvironment:
    name: str
    """As in `make framework-NAME`."""
    image: str
    """The name by which a job selects it."""
    modules: tuple[str, ...]
    """The frameworks that it has."""
    programs: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        return f"make framework-{self.name}"


ENVIRONMENTS = (
    FrameworkEnvironment("torch", "traincrew/torch", ("torch",), ("torchrun",)),
    FrameworkEnvironment("tensorflow", "traincrew/tensorflow", ("tensorflow", "keras")),
    FrameworkEnvironment("openmpi4", "traincrew/openmpi", ("mpi4py",), MPI),
    FrameworkEnvironment("openmpi5", "traincrew/openmpi:5", ("mpi4py",), MPI),
    FrameworkEnvironment("mpich", "traincrew/mpich", ("mpi4py",), MPI),
    FrameworkEnvironment("intelmpi", "traincrew/intelmpi", ("mpi4py",), MPI),
    FrameworkEnvironment("jax", "traincrew/jax", ("jax",)),
    FrameworkEnvironment("xgboost", "traincrew/xgboost", ("xgboost",)),
    FrameworkEnvironment("paddle", "traincrew/paddle", ("paddle",)),
    FrameworkEnvironment("horovod-tensorflow", "traincrew/horovod", ("horovod", "tensorflow", "keras"), ("horovodrun", *MPI)),
    FrameworkEnvironment("horovod-torch", "traincrew/horovod-torch", ("horovod", "torch"), ("horovodrun", "torchrun", *MPI)),
)
"""As in docs/frameworks.md. Of several that fit, the first is proposed."""


def on_image(image: str) -> str:
    """How to get the environment of the image. Empty: the project builds none for it."""
    names = (image, image.removesuffix(":latest"))
    found = next((each for each in ENVIRONMENTS if each.image in names or f"traincrew/{each.name}" in names), None)
    if found is None:
        return ""
    use = "run again" if found.image in names else f"use --image {found.image}"
    return (
        f"The environment is not built yet. Run `{found.command}` in the clone of traincrew (docs/frameworks.md), then {use}. "
        f"Without a clone, use --requirements FILE with the packages of the job, or --env-dir DIR with an environment that has "
        f"{', '.join(found.modules)}."
    )


def on_modules(modules: Sequence[str]) -> str:
    """How to get the frameworks among the modules. Empty: they have none, or no environment has all of them."""
    known = frameworks(modules)
    found = next((each for each in ENVIRONMENTS if set(known) <= set(each.modules)), None) if known else None
    if found is None:
        return ""
    return f"{_advice(found, ', '.join(known))} Without a clone, use --requirements FILE with a file that names {_them(known)}."


def frameworks(modules: Sequence[str]) -> tuple[str, ...]:
    """The frameworks among the modules, sorted."""
    names = {module.partition(".")[0] for module in modules}
    return tuple(sorted({name for each in ENVIRONMENTS for name in each.modules} & names))


def _them(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "them"


def on_program(program: str, modules: Sequence[str]) -> str:
    """How to get the program. Empty: no environment has it. modules: those that the command imports."""
    names = {module.partition(".")[0] for module in modules}
    suitable = [each for each in ENVIRONMENTS if program in each.programs]
    found = max(suitable, key=lambda each: len(names & set(each.modules)), default=None)
    without = f"Without a clone, use --env-dir DIR with an environment that has {program}."
    return f"{_advice(found, program)} {without}" if found is not None else ""


def _advice(environment: FrameworkEnvironment, has: str) -> str:
    return (
        f"`{environment.command}` in the clone of traincrew builds an environment with {has}: image {environment.image} "
        "(docs/frameworks.md)."
    )
