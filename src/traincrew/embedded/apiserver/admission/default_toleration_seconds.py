"""DefaultTolerationSeconds: a pod tolerates a lost node for five minutes, unless its spec overrides it."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.admission.attributes import CREATE, UPDATE, AdmissionAttributes, Listers
from traincrew.embedded.apiserver.registry.builtin.core.pods.scheduling import DEFAULT_TOLERATIONS


def admit(attributes: AdmissionAttributes, _listers: Listers) -> None:
    if not attributes.is_for("pods", CREATE, UPDATE):
        return
    spec = attributes.object["spec"]
    tolerations = spec.get("tolerations") or []
    missing = [dict(usual) for usual in DEFAULT_TOLERATIONS if not any(_tolerates(each, usual["key"]) for each in tolerations)]
    if missing:
        spec["tolerations"] = [*tolerations, *missing]


def _tolerates(toleration: Object, taint: str) -> bool:
    return (toleration.get("key") or taint) == taint and (toleration.get("effect") or "NoExecute") == "NoExecute"
