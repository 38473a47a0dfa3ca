"""TensorFlow and Keras: known faults, and errors of its servers."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

_LAST = r"(?![\s\S]*^Traceback )"
"""No traceback follows: the program has not survived the exception."""

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "keras-multi-worker",
        r"Attempt to convert a value \(PerReplica|PerReplica.*unsupported type",
        "Set TF_USE_LEGACY_KERAS=1 and install tf_keras, or write the training loop yourself: Model.fit of Keras 3 does not "
        "support MultiWorkerMirroredStrategy.",
        "Model.fit of Keras 3 does not support this distribution strategy",
        place="exception",
    ),
    Recognizer(
        "tensorflow-out-of-memory",
        r"^(?:[^\n]*: )?(?P<message>OOM when allocating tensor[^\n]*|failed to allocate memory)"
        r"\n\s+\[\[\{\{node (?P<node>[^}]+)\}\}\]\]" + _LAST,
        "Use a smaller batch.",
        "{message}",
        before_exceptions=True,
    ),
    Recognizer(
        "keras-layer",
        r"Exception encountered when calling [^\n]*\n\s*(?P<message>\S[^\n]*)",
        "Compare the shapes of the data with the layers of the model.",
        "{message}",
        before_exceptions=True,
    ),
    Recognizer(
        "tensorflow-labels",
        r"Received a label value of (?P<label>-?\d+) which is outside the valid range of (?P<range>\[[^)\]]*[)\]])",
        "Compare the labels in the data with the size of the last layer.",
        "a label of {label} is outside of the valid range {range}",
        before_exceptions=True,
    ),
    Recognizer(
        "tensorflow-graph",
        r"\A(?![\s\S]*(?:Collective ops is aborted|tasks are unhealthy|UnavailableError))[\s\S]*?"
        r"^(?P<message>\S[^\n]*)\n\s+\[\[\{\{node (?P<node>[^}]+)\}\}\]\]" + _LAST,
        "Check the operation {node} and the shapes and values of its inputs.",
        "{message}",
        before_exceptions=True,
    ),
    Recognizer(
        "tensorflow-1",
        r"module 'tensorflow(?:\.\w+)*' has no attribute '(?P<name>Session|placeholder|app|flags|ConfigProto|contrib|logging|"
        r"global_variables_initializer|train\.\w+|gfile|reset_default_graph|get_default_graph)'",
        "Use tf.compat.v1.{name}, or an image with TensorFlow 1: the program was written for TensorFlow 1.",
        place="exception",
    ),
    Recognizer(
        "tensorflow-peer-lost",
        r"(?:UnavailableError|AbortedError)\b",
        "Check which replica failed first, and why.",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "tensorflow-missing-file",
        r"NotFoundError\b.*?(?P<file>/\S+?);? No such file or directory",
        "Check that {file} exists inside the pod, and that its directory is mounted.",
        place="exception",
    ),
    Recognizer(
        "tensorflow-out-of-memory",
        r"ResourceExhaustedError|OOM when allocating tensor",
        "Use a smaller batch.",
        place="exception",
    ),
    Recognizer(
        "tensorflow-peer-lost",
        r"Collective ops is aborted by[^\n]*|The following tasks are unhealthy[^\n]*|Polled an error from coordination service",
        "Check which replica failed first, and why.",
        "another task ended, and the collective operations were aborted",
        significance="consequence",
        before_exceptions=True,
    ),
)
