"""Under torchrun: every worker process tells who it is and adds its voice to a sum."""

from __future__ import annotations

import os
import socket

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo")
    voices = torch.ones(1)
    dist.all_reduce(voices)
    restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    told = f"rank={dist.get_rank()} world={dist.get_world_size()} host={socket.gethostname()}"
    print(f"{told} restarts={restarts} voices={int(voices.item())}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
