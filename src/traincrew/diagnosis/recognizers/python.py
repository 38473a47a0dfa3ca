"""Exceptions of Python and of programs in general."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "missing-module",
        r"^(?:ModuleNotFoundError|ImportError): No module named '?(?P<module>[\w.]+)'?",
        "Install {module} in the environment of the image, or use another image.",
        place="exception",
    ),
    Recognizer(
        "missing-library",
        r"(?P<library>[\w.+-]+\.so[\w.]*): cannot open shared object file",
        "Use an image that contains {library}, or set LD_LIBRARY_PATH.",
        place="exception",
    ),
    Recognizer(
        "shadowed-module",
        r"partially initialized module '(?P<module>[\w.]+)' .*\(most likely due to a circular import\)",
        "If a file of the program has the name of a package (such as random.py or cuda.py), rename it: Python imports it in "
        "place of the package. Else break the circular import.",
        place="exception",
    ),
    Recognizer(
        "shadowed-module",
        r"\(consider renaming '(?P<file>[^']+)'",
        "Rename {file}: Python imports it in place of the package of that name.",
        place="exception",
    ),
    Recognizer(
        "import",
        r"^ImportError: ",
        "Check that the versions of the installed packages fit each other.",
        place="exception",
    ),
    Recognizer(
        "missing-file",
        r"(?:FileNotFoundError|No such file or directory).*?: '(?P<file>/(?:var/)?tmp/[^']+)'",
        "Move {file} out of /tmp, or mount its directory: pods have a /tmp of their own and do not see the one of the machine.",
        place="exception",
    ),
    Recognizer(
        "missing-file",
        r"(?:FileNotFoundError|No such file or directory)(?:.*?: '(?P<file>[^']+)')?",
        "Check that the file exists inside the pod, and that its directory is mounted.",
        place="exception",
    ),
    Recognizer(
        "too-many-files",
        r"\[Errno 24\]|Too many open files",
        "Close files that are not used any more, use fewer data loader workers, or raise the limit (`ulimit -n`) in the command. "
        "Data loaders of PyTorch keep fewer files open with torch.multiprocessing.set_sharing_strategy('file_system').",
        place="exception",
    ),
    Recognizer(
        "disk-full",
        r"\[Errno 28\]|No space left on device",
        "Free space in the volume, or give it more. /tmp and the container's root file system count as ephemeral storage.",
        place="exception",
    ),
    Recognizer(
        "quota",
        r"\[Errno 122\]|Disk quota exceeded",
        "Free space, or ask for a larger quota.",
        place="exception",
    ),
    Recognizer(
        "permission",
        r"PermissionError|Permission denied",
        "Check the user of the pod (runAsUser) and the permissions of the files.",
        place="exception",
    ),
    Recognizer(
        "memory",
        r"^std::bad_alloc",
        "Raise the memory of the container, or load the data in parts.",
        "a native library could not allocate memory (std::bad_alloc)",
        place="exception",
    ),
    Recognizer(
        "memory",
        r"^MemoryError|Unable to allocate .* for an array|DefaultCPUAllocator: (?:can't|not enough memory)|std::bad_alloc",
        "Raise the memory of the container, or load the data in parts.",
        place="exception",
    ),
    Recognizer(
        "syntax",
        r"^(?:SyntaxError|IndentationError|TabError): ",
        "Fix the program: Python cannot read it.",
        place="exception",
    ),
    Recognizer(
        "interrupted",
        r"^KeyboardInterrupt",
        "Start the job again: the process was interrupted (SIGINT).",
        place="exception",
        significance="report",
    ),
    Recognizer(
        "no-egress",
        r"(?:URLError|Max retries exceeded with url|ConnectError|ClientConnectorDNSError).*"
        r"(?:Name or service not known|[Nn]ame resolution|Failed to resolve|getaddrinfo failed)",
        "Check that pods can resolve and reach that address (DNS, proxy, network policies), or put the data into a volume.",
        place="exception",
    ),
    Recognizer(
        "unknown-host",
        r"Name or service not known|Temporary failure in name resolution|nodename nor servname provided|getaddrinfo failed",
        "Check the name of the host. The names of replicas resolve only while their pods exist.",
        place="exception",
    ),
    Recognizer(
        "no-egress",
        r"Max retries exceeded with url|ConnectTimeoutError|couldn't connect to 'https?://|Network is unreachable|URLError",
        "Check that pods can reach that address (proxy, network policies), or put the data into a volume.",
        place="exception",
    ),
    Recognizer(
        "native-abort",
        r"^terminate called without an active exception",
        "End the threads of native libraries before the program ends: call destroy_process_group, close data loaders.",
        "a native thread was still running when the program ended",
    ),
    Recognizer(
        "crash",
        r"^Fatal Python error: (?P<message>.+)$",
        "Check the stack that follows: the innermost frame called the native code that crashed.",
        evidence_lines=6,
    ),
)
