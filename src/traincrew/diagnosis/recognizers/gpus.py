"""Faults of GPUs and their libraries."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "gpu-out-of-memory",
        r"(?:CUDA|HIP) (?:error: )?out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|CUDNN_STATUS_ALLOC_FAILED|"
        r"cudaMalloc.*out of memory",
        "Use a smaller batch, a lower precision or a smaller model. Check with `nvidia-smi` that no other process uses the GPU.",
        place="exception",
    ),
    Recognizer(
        "gpu-driver",
        r"Found no NVIDIA driver|no CUDA-capable device is detected|CUDA driver version is insufficient|"
        r"No CUDA GPUs are available",
        "Request a GPU (resources.limits nvidia.com/gpu) and check the driver of the node; without a GPU, train on the CPU.",
        place="exception",
    ),
    Recognizer(
        "gpu-build",
        r"Torch not compiled with CUDA enabled|no kernel image is available for execution on the device",
        "Use an image whose framework was built for this GPU.",
        place="exception",
    ),
    Recognizer(
        "gpu-assert",
        r"CUDA error: device-side assert triggered",
        "Check labels and indices: one is out of range. CUDA_LAUNCH_BLOCKING=1 shows the operation.",
        place="exception",
    ),
    Recognizer(
        "gpu-error",
        r"CUDA error: (?P<message>.+)",
        "Set CUDA_LAUNCH_BLOCKING=1 to find the operation. Check the GPU with `nvidia-smi` and the kernel log of the node (Xid).",
        place="exception",
    ),
)
