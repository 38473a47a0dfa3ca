"""Under torchrun: every worker process prints its rank and takes part in a sum."""

from __future__ import annotations

import os
import socket

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    identity = f"rank={dist.get_rank()} world={dist.get_world_size()} host={socket.gethostname()}"
    print(f"{identity} restarts={restarts} total={int(total.item())}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
