"""Every rank adds its number to a sum. Rank 0 runs the tracker at which the ranks meet."""

import os
import socket

import numpy as np
from xgboost import collective
from xgboost.tracker import RabitTracker

rank, world, port = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
tracker = None
if rank == 0:
    tracker = RabitTracker(host_ip="0.0.0.0", n_workers=world, port=port)  # noqa: S104
    tracker.start()
with collective.CommunicatorContext(
    dmlc_communicator="rabit",
    dmlc_tracker_uri=os.environ["MASTER_ADDR"],
    dmlc_tracker_port=port,
    dmlc_task_id=str(rank),
    dmlc_retry=60,
):
    own, met = collective.get_rank(), collective.get_world_size()
    total = collective.allreduce(np.array([own]), collective.Op.SUM)[0]
    print(f"rank={own} world={met} host={socket.gethostname()} sum={total}", flush=True)
if tracker is not None:
    tracker.wait_for()
