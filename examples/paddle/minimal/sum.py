"""Every rank adds its number to a sum."""

import socket

import paddle
import paddle.distributed as dist

paddle.set_device("cpu")
dist.init_parallel_env()
total = paddle.to_tensor([float(dist.get_rank())])
dist.all_reduce(total)
print(f"rank={dist.get_rank()} world={dist.get_world_size()} host={socket.gethostname()} sum={total.item():.0f}", flush=True)
