"""The image names that map to the environments: those of the seeds, of the public examples of the operators, and our own."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.frameworks import cache_paths, packages, ssh
from tools.frameworks.commands import BuildFailed
from tools.frameworks.recipes import named

from traincrew.embedded.kubelet.images import image_map, image_map_files
from traincrew.embedded.kubelet.images.image_map import ImageMapEntry, MountEntry

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DEVICES = {"nvidia.com/vgpu": 4, "nvidia.com/gpumem": 16000}
"""Extended resources that jobs of the seeds request. A node has those of `traincrew up --device NAME=COUNT`."""


@dataclass(frozen=True)
class Image:
    recipe: str
    patterns: tuple[str, ...]
    mounts: tuple[tuple[str, str], ...] = ()
    """Folders or files of examples/, and where the image has them."""
    workdir: str = ""
    command: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    ssh: bool = False


_OURS = (("", "/examples"),)
_ONE_THREAD = (("OMP_NUM_THREADS", "1"),)
_QUIET = (("TF_CPP_MIN_LOG_LEVEL", "2"),)
# ResNet-101 at full size takes minutes a step on two cores.
_SMALL = (("BENCHMARK_IMAGE_SIZE", "32"), ("BENCHMARK_BATCH_SIZE", "4"), ("BENCHMARK_BATCHES", "3"), ("BENCHMARK_WARMUP", "1"))
_INTEL = (("I_MPI_FABRICS", "ofi"), ("FI_PROVIDER", "tcp"))
_PI = (("mpi/pi/pi.py", "/home/mpiuser/pi"),)

IMAGES: tuple[Image, ...] = (
    Image("torch", ("traincrew/torch",), _OURS, variables=_ONE_THREAD),
    Image("torch", ("pytorch/pytorch", "*/pytorch/pytorch"), variables=_ONE_THREAD),
    Image(
        "torch",
        ("*pytorch-dist-mnist*",),
        (("pytorch/mnist", "/opt/mnist/src"),),
        command=("python", "/opt/mnist/src/mnist.py"),
        variables=_ONE_THREAD,
    ),
    Image("torch", ("*kubeflowkatib/pytorch-mnist*",), (("pytorch/mnist", "/opt/pytorch-mnist"),), "/opt/pytorch-mnist"),
    Image(
        "torch",
        ("*pytorch-elastic-example-echo*",),
        (("pytorch/elastic/echo.py", "/workspace/examples/echo.py"),),
        "/workspace/examples",
        variables=(*_ONE_THREAD, ("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")),
    ),
    Image("tensorflow", ("traincrew/tensorflow",), _OURS, variables=_QUIET),
    Image("tensorflow", ("tensorflow/tensorflow", "*/tensorflow/tensorflow"), variables=_QUIET),
    Image(
        "tensorflow", ("*tf-mnist-with-summaries*",), (("tensorflow/mnist-with-summaries", "/var/tf_mnist"),), variables=_QUIET
    ),
    Image(
        "tensorflow",
        ("*distributed_worker*", "*tf-dist-mnist-test*"),
        (("tensorflow/distributed-worker", "/var/tf_dist_mnist"),),
        command=("python", "/var/tf_dist_mnist/distributed_worker.py"),
        variables=_QUIET,
    ),
    Image(
        "tensorflow",
        ("*multi_worker_strategy*",),
        (("tensorflow/multi-worker", "/opt/multi-worker"),),
        command=("python", "/opt/multi-worker/multi_worker.py"),
        variables=_QUIET,
    ),
    Image("openmpi4", ("traincrew/openmpi", "traincrew/openmpi:4*"), _OURS, ssh=True),
    Image("openmpi5", ("traincrew/openmpi:5*",), _OURS, ssh=True),
    Image("mpich", ("traincrew/mpich",), _OURS, ssh=True),
    Image("intelmpi", ("traincrew/intelmpi",), _OURS, variables=_INTEL, ssh=True),
    Image("openmpi4", ("mpioperator/mpi-pi", "mpioperator/mpi-pi:openmpi"), _PI, ssh=True),
    Image("mpich", ("mpioperator/mpi-pi:mpich",), _PI, ssh=True),
    Image("intelmpi", ("mpioperator/mpi-pi:intel",), _PI, variables=_INTEL, ssh=True),
    Image("jax", ("traincrew/jax",), _OURS),
    Image("jax", ("*jaxjob-simple*",), (("jax/mnist", "/app"),), "/app"),
    Image(
        "jax",
        ("*jaxjob-spmd-mnist*", "*jaxjob-dist-spmd-mnist*"),
        (("jax/mnist/train.py", "/app/spmd_mnist_classifier_fromscratch.py"),),
        "/app",
    ),
    Image("xgboost", ("traincrew/xgboost",), _OURS),
    Image("paddle", ("traincrew/paddle", "*paddlepaddle/paddle*"), _OURS, variables=(("PADDLE_DISTRI_BACKEND", "gloo"),)),
    Image("horovod-tensorflow", ("traincrew/horovod",), _OURS, variables=_QUIET, ssh=True),
    Image("horovod-tensorflow", ("horovod/horovod",), (("mpi/horovod-elastic", "/examples/elastic"),), variables=_QUIET),
    Image("horovod-tensorflow", ("*mpi-horovod-mnist*",), (("mpi/tensorflow-mnist", "/examples"),), variables=_QUIET),
    Image(
        "horovod-tensorflow",
        ("*mpioperator/tensorflow-benchmarks*",),
        (("mpi/benchmarks", "/opt/benchmarks/scripts/tf_cnn_benchmarks"),),
        "/opt/benchmarks",
        variables=(*_QUIET, *_SMALL),
    ),
    Image("horovod-torch", ("traincrew/horovod-torch",), _OURS, variables=_ONE_THREAD),
)


def entries(examples: Path = EXAMPLES) -> tuple[ImageMapEntry, ...]:
    """For every environment that is built, and for no other. examples: the directory that the images mount."""
    found: list[ImageMapEntry] = []
    for image in IMAGES:
        recipe = named(image.recipe)
        try:
            folder = cache_paths.environment(recipe, packages.python(recipe)[0])
        except BuildFailed:
            continue
        if cache_paths.built(folder) is not None:
            found += _entries(image, folder, examples)
    return tuple(found)


def _entries(image: Image, folder: Path, examples: Path) -> list[ImageMapEntry]:
    mounts = [MountEntry(str(examples / source), path, True) for source, path in image.mounts]
    variables = {name: value.format(here=folder) for name, value in named(image.recipe).variables}
    if image.ssh:
        mounts = [MountEntry(str(source), path, True) for source, path in ssh.provide(folder, variables)] + mounts
    return [
        ImageMapEntry(
            pattern=pattern,
            environment=str(folder),
            mounts=tuple(mounts),
            workdir=image.workdir,
            command=image.command,
            variables={**variables, **dict(image.variables)},
        )
        for pattern in image.patterns
    ]


def copied_examples() -> Path:
    """A copy of examples/ in the cache, by its content. The images keep it if the clone is moved or deleted."""
    files = sorted(path for path in EXAMPLES.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(EXAMPLES)}\0".encode() + path.read_bytes())
    target = cache_paths.root() / f"examples-{digest.hexdigest()[:8]}"
    if not target.is_dir():
        with tempfile.TemporaryDirectory(dir=cache_paths.root()) as unfinished:
            copy = shutil.copytree(EXAMPLES, Path(unfinished) / "examples", ignore=shutil.ignore_patterns("__pycache__"))
            with contextlib.suppress(OSError):  # another process was faster
                copy.rename(target)
    return target


def register() -> Path:
    """Adds the entries to the image map of the user. Entries of the user for the same names are kept."""
    ours = entries(copied_examples())
    where = image_map_files.user_path()
    image_map_files.change(where, lambda known: merged(known, ours))
    (cache_paths.root() / image_map_files.NAME).write_text(image_map.render(ours))
    return where


def merged(known: tuple[ImageMapEntry, ...], ours: tuple[ImageMapEntry, ...]) -> tuple[ImageMapEntry, ...]:
    here = str(cache_paths.root())
    kept = tuple(entry for entry in known if not entry.environment.startswith(here))
    taken = {entry.pattern for entry in kept}
    return kept + tuple(entry for entry in ours if entry.pattern not in taken)
