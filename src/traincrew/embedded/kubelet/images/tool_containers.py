"""The tools (nslookup, kubectl, traincrew-wait) that the node provides for init containers of training operators. PURE.

Such containers are recognized by their commands, because the names of their images vary.
"""

from __future__ import annotations

import re

from traincrew.apimachinery.unstructured import Object

NSLOOKUP, KUBECTL, WAIT = "nslookup", "kubectl", "traincrew-wait"

_NSLOOKUP = re.compile(r"(?<![\w./-])nslookup(?![\w.-])")
_KUBECTL = re.compile(r"(?<![\w.-])kubectl(?![\w.-])")
_DELIVERY = "kubectl-delivery"


def tool_role(pod: Object, container: Object) -> str:
    """The tool of this node that the container needs; empty: none."""
    if container["name"] not in {each["name"] for each in pod["spec"].get("initContainers") or ()}:
        return ""
    words = " ".join([*(container.get("command") or ()), *(container.get("args") or ())])
    target = any(entry.get("name") == "TARGET_DIR" for entry in container.get("env") or ())
    if target and (_KUBECTL.search(words) or (not words and container["name"] == _DELIVERY)):
        return KUBECTL
    if _NSLOOKUP.search(words):
        return NSLOOKUP
    if (container.get("command") or ("",))[0] == WAIT:
        return WAIT
    return ""
