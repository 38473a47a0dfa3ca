"""Calls in which a rank waits for the other ranks, recognized in its Python stack."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A function name as it appears in a stack, and the name under which users know the call.
_CALLS: tuple[tuple[str, str], ...] = (
    (r"init_process_group", "init_process_group"),
    (r"_?rendezvous_?(?:handler)?|next_rendezvous|_initialize_workers", "the rendezvous of torchrun"),
    (r"monitored_barrier|_store_based_barrier|barrier|Barrier", "barrier"),
    (r"all_?reduce\w*|Allreduce|_?allreduce_async", "all_reduce"),
    (r"all_?gather\w*|Allgatherv?", "all_gather"),
    (r"reduce_scatter\w*|Reduce_scatter\w*", "reduce_scatter"),
    (r"broadcast(?:_object_list|_parameters|_variables|_optimizer_state|_object|_coalesced)?|[bB]cast", "broadcast"),
    (r"all_?to_?all\w*|Alltoallv?", "all_to_all"),
    (r"_sync_module_states|_verify_param_shape_across_processes", "the synchronization of the model (DistributedDataParallel)"),
    (r"init_parallel_env", "init_parallel_env"),
    (r"_initialize_distributed|initialize_distributed", "jax.distributed.initialize"),
    (r"CommunicatorContext|_?rabit_init", "the tracker of XGBoost"),
    (r"Finalize|_?shutdown_distributed", "the end of the other ranks"),
    (r"[sS]end(?:recv|recv_replace)?|I?[rR]ecv|Wait(?:all|any)?", "a message of another rank"),
)  # fmt: skip
_QUALIFIED: tuple[tuple[str, str], ...] = (
    (r"\bjax/.*distributed\.py\b|jax\.distributed", "jax.distributed.initialize"),
    (r"\bhorovod/.*\b(?:synchronize|_?allreduce|poll)\b", "all_reduce"),
    (r"\bhorovod/.*\binit\b", "hvd.init"),
    (r"\bxgboost/(?:collective|rabit|tracker)\.py\b", "the tracker of XGBoost"),
    (r"\btensorflow/.*\b(?:_?initialize_(?:multi_worker|strategy)|_check_health|configure_coordination_service)\b",
     "the start of MultiWorkerMirroredStrategy"),
    (r"\btensorflow/.*server_lib\.py.*\bjoin\b|\bjoin\b.*server_lib\.py", "tf.distribute.Server.join"),
)  # fmt: skip

JOINS: dict[str, str] = {
    "init_process_group": "check that the world size of the program is WORLD_SIZE",
    "the rendezvous of torchrun": "check that --nnodes of torchrun is the number of replicas",
    "init_parallel_env": "check that the number of trainers of the program is the number of replicas",
    "jax.distributed.initialize": "check that num_processes of the program is NUM_PROCESSES",
    "hvd.init": "check that the number of processes of the launcher is the number of slots",
    "the tracker of XGBoost": "check that n_workers of the tracker is the number of workers",
    "the start of MultiWorkerMirroredStrategy": "check that the program does not change TF_CONFIG",
}
"""Calls that return when all ranks have joined, and what to check if all replicas are in one: a rank that does not exist is
waited for."""


def waiting_call(stack: Sequence[str]) -> str:
    """The call in which a rank waits; empty if it is in none.

    `stack`: one line per frame, the innermost first, each with the function name first, such as
    `barrier (torch/distributed/distributed_c10d.py:4150)`. The outermost known call is the one that the user's program made.
    """
    for frame in reversed(stack):
        function = re.split(r"[\s(:]", frame.strip(), maxsplit=1)[0].rpartition(".")[2]
        for pattern, name in _QUALIFIED:
            if re.search(pattern, frame):
                return name
        for pattern, name in _CALLS:
            if re.fullmatch(pattern, function):
                return name
    return ""
