"""The recipe of each environment: plain data."""

from __future__ import annotations

from dataclasses import dataclass

HOROVOD = "0.28.1"


@dataclass(frozen=True)
class Recipe:
    name: str
    says: str
    megabytes: int
    """Disk that a build needs, wheels and compiled files included."""
    pythons: tuple[str, ...] = ("3.11", "3.12", "3.13")
    only_because: str = ""
    """Why the recipe needs one of these Python versions; part of the error message."""
    trimmed: tuple[str, ...] = ()
    """Patterns below site-packages of files that nothing on a CPU ever opens."""
    alone: tuple[str, ...] = ("data",)
    """Locks of single packages that are installed without what they ask for."""
    horovod: str = ""
    """The framework that Horovod is compiled for."""
    variables: tuple[tuple[str, str], ...] = ()
    """Set in every process of the environment; {here} is its folder."""
    proof: str = ""
    """Python that fails unless the environment works."""
    on_demand: bool = False
    """Built only by name, not by `make frameworks`."""


# The wheel that the index offers links against CUDA's libraries, so those must be there even where there is no GPU. What is
# only opened on a GPU need not be: 0.5 GB of cuDNN's kernels, headers and static archives. (Triton is not in the lock at all.)
_GPU_ONLY = (
    "nvidia/cudnn/lib/libcudnn_*",
    "nvidia/*/include",
    "nvidia/*/lib/*.a",
    "nvidia/cu13/lib/libcusolverMg.so*",
    "nvidia/cu13/lib/libnvrtc*.alt.so*",
    "nvidia/nvshmem/lib/*.bc",
)

# Its mpirun finds itself, but a process that was started without mpirun looks where the wheel was compiled.
# Pods share this machine's cores: a rank that waits must not keep the others from theirs.
_OPEN_MPI_4 = (("OPAL_PREFIX", "{here}"), ("OMPI_MCA_mpi_yield_when_idle", "1"))
_TORCH = """import torch
assert torch.distributed.is_gloo_available()
torch.nn.Conv2d(1, 2, 3)(torch.ones(1, 1, 8, 8)).sum().backward()"""
_MPI = "from mpi4py import MPI; assert {!r} in MPI.Get_library_version(), MPI.Get_library_version()"
_HOROVOD = "import horovod.{} as hvd; assert hvd.gloo_built() and hvd.mpi_built(); hvd.init(); assert hvd.size() == 1"

RECIPES: tuple[Recipe, ...] = (
    Recipe("torch", "PyTorch 2.13 with gloo, torchrun", 5200, trimmed=_GPU_ONLY, proof=_TORCH),
    Recipe(
        "tensorflow",
        "TensorFlow 2.21 for CPU, TensorBoard's writer",
        2400,
        alone=("data", "keras2"),
        proof="import tensorflow as tf; assert float(tf.reduce_sum(tf.ones((2, 2)))) == 4",
    ),
    Recipe("openmpi4", "Open MPI 4.1 and mpi4py", 150, variables=_OPEN_MPI_4, proof=_MPI.format("Open MPI v4")),
    Recipe("openmpi5", "Open MPI 5.0 and mpi4py", 150, proof=_MPI.format("Open MPI v5")),
    Recipe("mpich", "MPICH 5.0 and mpi4py", 200, proof=_MPI.format("MPICH")),
    Recipe("intelmpi", "Intel MPI 2021 and mpi4py", 600, proof=_MPI.format("Intel")),
    Recipe("jax", "JAX for CPU", 900, proof="import jax.numpy as n; assert float(n.ones(3).sum()) == 3"),
    Recipe("xgboost", "XGBoost 3.2 for CPU", 400, proof="import xgboost; assert xgboost.build_info()"),
    Recipe("paddle", "PaddlePaddle 3.3 for CPU", 1400, proof="import paddle; assert float(paddle.ones([3]).sum()) == 3"),
    Recipe(
        "horovod-tensorflow",
        f"Horovod {HOROVOD} for TensorFlow 2.15, with gloo and Open MPI 4",
        2600,
        pythons=("3.11",),
        only_because="TensorFlow 2.15.1, the last one that Horovod compiles against, has no wheel for a later Python",
        horovod="tensorflow",
        variables=_OPEN_MPI_4,
        proof=_HOROVOD.format("tensorflow"),
    ),
    Recipe(
        "horovod-torch",
        f"Horovod {HOROVOD} for PyTorch 2.13, with gloo and Open MPI 4",
        6200,
        trimmed=_GPU_ONLY,
        horovod="torch",
        variables=_OPEN_MPI_4,
        proof=_HOROVOD.format("torch"),
        on_demand=True,
    ),
)


def named(name: str) -> Recipe:
    for recipe in RECIPES:
        if recipe.name == name:
            return recipe
    raise KeyError(name)
