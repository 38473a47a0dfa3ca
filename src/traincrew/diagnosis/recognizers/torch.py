"""PyTorch: process groups, torchrun, data loaders, state dicts."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

_JOIN = "Check that all replicas run and call init_process_group with the same world size."

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "torchrun",
        r"Root Cause \(first observed failure\): \[\d+\]: time : \S+ host : (?P<host>\S+) rank : (?P<rank>\d+) "
        r"\(local_rank: \d+\) exitcode : -(?P<number>\d+) \(pid: \d+\) \((?P<signal>\w+)\)",
        "Check the memory of the node and the native libraries of the program: the process did not end by itself.",
        "rank {rank} on {host} was ended by signal {number} ({signal})",
        significance="report",
        before_exceptions=True,
    ),
    Recognizer(
        "torchrun",
        r"Root Cause \(first observed failure\): \[\d+\]: time : \S+ host : (?P<host>\S+) rank : (?P<rank>\d+) "
        r"\(local_rank: \d+\) exitcode : (?P<code>\d+)",
        "Check the traceback of rank {rank} in the log, before the report of torchrun. With the decorator "
        "torch.distributed.elastic.multiprocessing.errors.record on the main function, the report and the status contain it.",
        "rank {rank} on {host} exited with code {code}",
        significance="report",
        before_exceptions=True,
    ),
    Recognizer(
        "torchrun",
        r"ChildFailedError|ProcessExitedException|ProcessRaisedException",
        "Check the traceback of the process in the log, before the report of its launcher.",
        place="exception",
        significance="report",
    ),
    Recognizer(
        "rendezvous-lost",
        r"RendezvousConnectionError|RendezvousClosedError|The connection to the C10d store has failed",
        "Check how the replica that hosts the rendezvous ended: worker-0 unless rdzvHost is set.",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "rendezvous-timeout",
        r"RendezvousTimeoutError",
        "Check that minReplicas replicas run, or raise the join_timeout of rdzvConf.",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "terminated-by-torchrun",
        r"SignalException: Process \d+ got signal: (?P<signal>\d+)",
        "Check which replica failed first, and whether the pod was deleted, evicted or reached a deadline.",
        "torchrun was ended by signal {signal}",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "ranks-missing",
        r"(?P<joined>\d+)/(?P<size>\d+) clients joined",
        "Check the replicas that did not join: they failed, ended early, or have another world size.",
        "only {joined} of {size} ranks joined the process group",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "ranks-missing",
        r"world_size=(?P<size>\d+), (?:num_workers_joined|worker_count)=(?P<joined>\d+)",
        _JOIN,
        "only {joined} of {size} ranks joined the process group",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "master-unreachable",
        r"client socket has (?:timed out|failed).*?connect to (?:any network address of )?\(?(?P<address>[^)\n]+)\)?",
        "Check that rank 0 runs and calls init_process_group: the other ranks connect to it.",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "port-in-use",
        r"EADDRINUSE|[Aa]ddress already in use",
        "Give each process of the pod a port of its own.",
        place="exception",
    ),
    Recognizer(
        "store-lost",
        r"DistNetworkError|DistStoreError|(?:recvValue|recvVector|sendBytes|waitForInput).*(?:failed|timed out|timeout)|"
        r"wait timeout after \d+ms",
        "Check which replica failed first: rank 0 hosts the store of the process group.",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "backend-missing",
        r"Distributed package doesn't have (?P<backend>\w+) built in",
        "Use the gloo backend, or an image whose PyTorch was built with {backend}.",
        place="exception",
    ),
    Recognizer(
        "nccl-without-gpu",
        r"ProcessGroupNCCL is only supported with GPUs|No backend type associated with device type (?P<device>\w+)",
        "Use the gloo backend on CPUs, or request GPUs (resources.limits nvidia.com/gpu).",
        place="exception",
    ),
    Recognizer(
        "environment-variable",
        r"environment variable (?P<variable>\w+) expected, but not set",
        "Do not remove or overwrite {variable}: the operator sets MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE.",
        place="exception",
    ),
    Recognizer(
        "shared-memory",
        r"DataLoader worker .* is killed by signal: Bus error|insufficient shared memory|unable to (?:open|write to|mmap) shared "
        r"memory|torch_shm",
        "Give the pod more shared memory: mount an emptyDir with medium Memory at /dev/shm, or use num_workers=0.",
        place="exception",
    ),
    Recognizer(
        "data-loader",
        r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) (?:is killed by signal: (?P<signal>\w+)|exited unexpectedly)",
        "Check the memory limit of the container: a process of the data loader was killed. Use fewer workers or smaller batches.",
        place="exception",
    ),
    Recognizer(
        "state-dict",
        r"Error\(s\) in loading state_dict",
        "Load the checkpoint of the same model, or pass strict=False.",
        place="exception",
    ),
    Recognizer(
        "model-differs",
        r"Expects model to have the same number of parameters|params.* appears not to match|"
        r"Detected mismatch between collectives|verification failed.*param",
        "Build the same model on all ranks.",
        place="exception",
    ),
    Recognizer(
        "unused-parameters",
        r"Expected to have finished reduction in the prior iteration",
        "Pass find_unused_parameters=True to DistributedDataParallel, or use all outputs of the model in the loss.",
        place="exception",
    ),
    Recognizer(
        "devices-differ",
        r"Expected all tensors to be on the same device|Tensor on device \S+ is not on the expected device",
        "Move model and data to the same device.",
        place="exception",
    ),
    Recognizer(
        "shapes",
        r"mat1 and mat2 shapes cannot be multiplied|size mismatch|must match the size of tensor|shape .* is invalid for input",
        "Compare the shape of the data with the layers of the model.",
        place="exception",
    ),
    Recognizer(
        "label-range",
        r"Target \d+ is out of bounds|index out of range in self",
        "Compare the labels and indices in the data with the size of the last layer or of the embedding.",
        place="exception",
    ),
)  # fmt: skip
