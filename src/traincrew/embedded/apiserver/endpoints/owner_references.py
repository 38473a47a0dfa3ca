"""Duplicate owner references are removed."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object

WARNING = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may reject such "
    "requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)


def deduplicate(obj: Object, patched: bool) -> list[str]:
    """Changes the metadata of the object in place. Returns the warning, if there is one."""
    references = obj["metadata"].get("ownerReferences")
    if not isinstance(references, list) or len(references) < 2:
        return []
    kept: list[Object] = []
    twice: list[str] = []
    for each in references:
        if each in kept:
            twice.append(str(each.get("uid", "")))
        else:
            kept.append(each)
    if not twice:
        return []
    obj["metadata"]["ownerReferences"] = kept
    return [WARNING.format(" after mutating admission happens" if patched else "", ", ".join(twice))]
