"""RuntimeClass: rejects pods that name one or set an overhead. The resource is not served, so no RuntimeClass exists."""

from __future__ import annotations

from traincrew.embedded.apiserver.admission.attributes import CREATE, AdmissionAttributes, Listers


def admit(attributes: AdmissionAttributes, _listers: Listers) -> None:
    if not attributes.is_for("pods", CREATE):
        return
    spec = attributes.object["spec"]
    if (name := spec.get("runtimeClassName")) is not None:
        raise attributes.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
    if spec.get("overhead"):
        raise attributes.forbidden("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
