"""Updates of pods that PodSecurity validates: those that add a container or change an image."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object


def is_significant(new: Object, old: Object) -> bool:
    """Other updates are allowed even if the level of the namespace has become stricter since the pod was created."""
    fixed = any(_images(new, kind) != _images(old, kind) for kind in ("containers", "initContainers"))
    return fixed or _has_new_ephemeral_image(new, old)


def _images(pod: Object, kind: str) -> list[str]:
    return [each.get("image") or "" for each in pod["spec"].get(kind) or ()]


def _has_new_ephemeral_image(new: Object, old: Object) -> bool:
    before = {each.get("name"): each.get("image") for each in old["spec"].get("ephemeralContainers") or ()}
    after = new["spec"].get("ephemeralContainers") or ()
    return any(each.get("name") not in before or before[each.get("name")] != each.get("image") for each in after)
