"""The strategy of pods."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.registry.builtin import go_diff
from traincrew.embedded.apiserver.registry.builtin.pods import defaults, mutation, specs, updates, warnings
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import NOWHERE, Context


def _default(obj: Object) -> None:
    defaults.pod(obj)
    status = obj["status"]
    if address := status.get("podIP"):
        if (status.get("podIPs") or [{}])[0].get("ip") != address:
            status["podIPs"] = [{"ip": address}]
    elif status.get("podIPs"):
        status["podIP"] = status["podIPs"][0].get("ip", "")


def _checked(obj: Object, errors: Errors) -> None:
    specs.check_new_pod(obj, errors)


def _compared(new: Object, old: Object, errors: Errors) -> None:
    specs.check_pod(new, errors)
    updates.compare(new, old, errors)


def _updating_status(new: Object, old: Object, _context: Context) -> None:
    if not new["status"].get("qosClass") and (kept := (old.get("status") or {}).get("qosClass")):
        new["status"]["qosClass"] = kept


class PodStrategy(Strategy):
    """Pods have two subresources more that change their spec: binding is not here, it needs no rules of the spec."""

    def prepare_update(self, new: Object, old: Object, subresource: str = "", context: Context = NOWHERE) -> None:
        if subresource == "ephemeralcontainers":
            added = new["spec"].get("ephemeralContainers")
            version = new["metadata"].get("resourceVersion")
            new.update({**old, "metadata": {**old["metadata"], "resourceVersion": version}, "spec": {**old["spec"]}})
            if added:
                new["spec"]["ephemeralContainers"] = added
            return
        super().prepare_update(new, old, subresource, context)

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> Errors:
        if subresource != "ephemeralcontainers":
            return super().validate_update(new, old, subresource)
        errors = self.validate_common(new, old)
        errors += self._check_changed_metadata(new, old) + self._check_metadata(new)
        specs.check_pod(new, errors)
        after = {each.get("name"): each for each in new["spec"].get("ephemeralContainers") or ()}
        at = "spec.ephemeralContainers"
        for former in old["spec"].get("ephemeralContainers") or ():
            name = former.get("name")
            if name not in after:
                errors.append(field_errors.forbidden(at, f'existing ephemeral containers "{name}" may not be removed\n'))
            elif after[name] != former:
                words = f'existing ephemeral containers "{name}" may not be changed\n{go_diff.between(former, after[name])}'
                errors.append(field_errors.forbidden(at, words))
        return errors


POD = PodStrategy(
    kind="Pod",
    naming=name_validation.dns_subdomain,
    has_status=True,
    status_keeps=("ownerReferences",),
    defaults=_default,
    creating=mutation.create,
    updating=mutation.update,
    updating_status=_updating_status,
    checked=_checked,
    compared=_compared,
    compared_status=updates.compare_status,
    on_update=("meta", "named", "compare"),
    warned=warnings.pod,
)
