#!/usr/bin/env python3
"""π by throwing darts, every rank its own, summed by MPI; prints which rank ran where."""

from __future__ import annotations

import os
import socket
import sys

import numpy as np
from mpi4py import MPI


def main() -> None:
    world = MPI.COMM_WORLD
    print(f"rank={world.rank} world={world.size} host={socket.gethostname()}", flush=True)
    darts = int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ.get("EXAMPLE_DARTS", "1000000"))
    points = np.random.default_rng(world.rank).random((darts, 2))
    inside = int((np.square(points).sum(1) <= 1).sum())
    total = world.allreduce(inside)
    hosts = world.gather(socket.gethostname())
    if world.allreduce(world.rank) != world.size * (world.size - 1) // 2:
        raise SystemExit("the sum over all ranks is wrong")
    if world.rank == 0:
        library = MPI.Get_library_version().splitlines()[0].split(",")[0].strip()
        print(f"{library}: ranks on {' '.join(hosts)}", flush=True)
        print(f"pi is approximately {4 * total / (darts * world.size):.6f}", flush=True)


if __name__ == "__main__":
    main()
