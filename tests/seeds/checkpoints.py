"""A training script with real PyTorch that writes checkpoints and resumes from the last one."""

from __future__ import annotations

from tests.cluster import manifests
from tests.cluster.api import Object

STEPS, EVERY = 400, 5
KEPT = "/checkpoints"

TRAIN = f"""
import os, time, torch
import torch.distributed as dist
from torch import nn

path = "{KEPT}/model.pt"
torch.manual_seed(0)
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
done = 0
if os.path.exists(path):
    kept = torch.load(path)
    model.module.load_state_dict(kept["model"])
    done = kept["step"]
print(f"rank={{rank}} world={{world}} begins after step={{done}}", flush=True)
wanted = torch.arange(8.0)
for step in range(done + 1, {STEPS} + 1):
    inputs = torch.randn(32, 8)
    loss = ((model(inputs).squeeze(1) - inputs @ wanted) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"rank={{rank}} step={{step}} loss={{loss.item():.6f}}", flush=True)
    if rank == 0 and step % {EVERY} == 0:
        torch.save({{"model": model.module.state_dict(), "step": step}}, path + ".new")
        os.replace(path + ".new", path)
    time.sleep(0.02)
dist.destroy_process_group()
"""


def job(name: str, claim: str) -> Object:
    """A master and a worker that share the claim."""
    container = {
        "image": "traincrew/torch", "command": ["python", "-c", TRAIN], "volumeMounts": [{"name": "kept", "mountPath": KEPT}],
    }  # fmt: skip
    roles: Object = {role: manifests.replicas("PyTorchJob", 1, "OnFailure", **container) for role in ("Master", "Worker")}
    for role in roles.values():
        volumes = [{"name": "kept", "persistentVolumeClaim": {"claimName": claim}}]
        role["template"]["spec"] |= {"volumes": volumes, "terminationGracePeriodSeconds": 1}
    return manifests.job("PyTorchJob", name, **roles)
