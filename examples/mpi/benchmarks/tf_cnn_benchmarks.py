"""Throughput of a network on synthetic images, with Horovod: `--model=resnet101 --batch_size=64 --variable_update=horovod`.

As large as it is asked for. A machine without a GPU wants less: BENCHMARK_IMAGE_SIZE (pixels, else 224), BENCHMARK_BATCHES and
BENCHMARK_WARMUP (else 100 and 10) and BENCHMARK_BATCH_SIZE make it smaller without a change to the job; each is printed.
"""

from __future__ import annotations

import argparse
import os
import socket
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

MODELS = {
    "resnet50": "ResNet50",
    "resnet101": "ResNet101",
    "resnet152": "ResNet152",
    "vgg16": "VGG16",
    "inception3": "InceptionV3",
}


def setting(name: str, otherwise: int) -> int:
    if name in os.environ:
        print(f"{name}={os.environ[name]} instead of {otherwise}", flush=True)
    return int(os.environ.get(name, otherwise))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet50", choices=sorted(MODELS))
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--variable_update", default="replicated", choices=["replicated", "horovod", "parameter_server"])
    parser.add_argument("--num_batches", type=int, default=100)
    parser.add_argument("--num_warmup_batches", type=int, default=10)
    parser.add_argument("--display_every", type=int, default=1)
    options, others = parser.parse_known_args()
    if others:
        print(f"without effect here: {' '.join(others)}", flush=True)
    return options


class Alone:
    """What Horovod says of a world of one."""

    @staticmethod
    def rank() -> int:
        return 0

    @staticmethod
    def size() -> int:
        return 1


def join(options: argparse.Namespace) -> object:
    if options.variable_update != "horovod":
        return Alone
    import horovod.tensorflow as hvd

    hvd.init()
    started = int(os.environ.get("OMPI_COMM_WORLD_SIZE", hvd.size()))
    if hvd.size() != started:
        raise SystemExit(f"mpirun started {started} ranks, Horovod sees {hvd.size()}: this Horovod was built without MPI")
    return hvd


def main() -> None:
    options = arguments()
    hvd = join(options)
    rank, world = hvd.rank(), hvd.size()  # type: ignore[attr-defined]
    pixels = setting("BENCHMARK_IMAGE_SIZE", 224)
    batches, warmup = setting("BENCHMARK_BATCHES", options.num_batches), setting("BENCHMARK_WARMUP", options.num_warmup_batches)
    size = setting("BENCHMARK_BATCH_SIZE", options.batch_size)
    print(f"rank={rank} world={world} host={socket.gethostname()}", flush=True)
    if rank == 0:
        print(f"TensorFlow:  {tf.__version__}\nModel:       {options.model}\nMode:        training", flush=True)
        print(f"Batch size:  {size * world} global, {size} per rank\nImage size:  {pixels} x {pixels}", flush=True)
    model = getattr(tf.keras.applications, MODELS[options.model])(weights=None, input_shape=(pixels, pixels, 3), classes=1000)
    if rank == 0:
        print(f"Parameters:  {model.count_params()} in {len(model.layers)} layers\nStep\tImg/sec\ttotal_loss", flush=True)
    seconds = measure(hvd, model, (size, pixels), (warmup, batches), options.display_every)
    check_exchange(hvd, model)
    if rank == 0:
        print("-" * 64, f"Total images/sec: {size * world * batches / seconds:.2f}", "-" * 64, sep="\n", flush=True)


def measure(hvd: object, model: tf.keras.Model, shape: tuple[int, int], counts: tuple[int, int], every: int) -> float:
    rank, world = hvd.rank(), hvd.size()  # type: ignore[attr-defined]
    size, pixels = shape
    random = np.random.default_rng(rank)
    images = tf.constant(random.random((size, pixels, pixels, 3), dtype=np.float32))
    labels = tf.constant(random.integers(0, 1000, size))
    optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)
    optimizer.build(model.trainable_variables)
    if world > 1:
        hvd.broadcast_variables(model.variables, root_rank=0)  # type: ignore[attr-defined]

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            predicted = model(images, training=True)
            loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(labels, predicted))
        if world > 1:
            tape = hvd.DistributedGradientTape(tape)  # type: ignore[attr-defined]
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True))
        return loss

    for _ in range(counts[0]):
        float(step())
    started = time.monotonic()
    for count in range(1, counts[1] + 1):
        before = time.monotonic()
        loss = float(step())
        if rank == 0 and (count == 1 or count % every == 0):
            print(f"{count}\timages/sec: {size * world / (time.monotonic() - before):.2f}\t{loss:.3f}", flush=True)
    return time.monotonic() - started


def check_exchange(hvd: object, model: tf.keras.Model) -> None:
    """Every rank has images of its own; equal weights mean that they exchanged gradients at every step."""
    if hvd.size() == 1:  # type: ignore[attr-defined]
        return
    own = tf.stack([tf.reduce_sum(tf.cast(variable, tf.float64)) for variable in model.trainable_variables])
    everybody = hvd.allgather(own[tf.newaxis]).numpy()  # type: ignore[attr-defined]
    if len(everybody) != hvd.size() or not np.all(everybody == own.numpy()):  # type: ignore[attr-defined]
        raise SystemExit("the ranks ended with different weights: gradients were not exchanged")
    print(f"rank={hvd.rank()} gradients exchanged: weights equal on {len(everybody)} ranks", flush=True)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
