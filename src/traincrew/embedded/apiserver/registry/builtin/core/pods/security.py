"""Security contexts of pods and containers."""

from __future__ import annotations

import re

from traincrew.apimachinery import field_errors, name_validation, sysctls
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core.pods import mounts

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_FORM = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_sysctl_form = re.compile(_SYSCTL_FORM)


def check_pod(spec: Object, path: str, errors: list[FieldError]) -> None:
    context = spec.get("securityContext")
    if not context:
        return
    at = f"{path}.securityContext"
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        _check_account(context.get(field), f"{at}.{field}", errors)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        _check_account(group, f"{at}.supplementalGroups[{index}]", errors)
    if context.get("sysctls"):
        _check_sysctls(spec, f"{at}.sysctls", errors)
    policy = context.get("fsGroupChangePolicy")
    if policy not in (None, "Always", "OnRootMismatch"):
        errors.append(field_errors.not_supported(f"{at}.fsGroupChangePolicy", policy, ("Always", "OnRootMismatch")))
    _check_profiles(context, at, errors)


def check_sharing(spec: Object, path: str, errors: list[FieldError]) -> None:
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        at = f"{path}.securityContext.shareProcessNamespace"
        errors.append(field_errors.invalid(at, True, "ShareProcessNamespace and HostPID cannot both be enabled"))


def check_container(context: Object, path: str, errors: list[FieldError]) -> None:
    for field in ("runAsUser", "runAsGroup"):
        _check_account(context.get(field), f"{path}.{field}", errors)
    seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", errors)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            message = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            errors.append(field_errors.invalid(path, context, message))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            message = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            errors.append(field_errors.invalid(path, context, message))
    apparmor(context.get("appArmorProfile"), f"{path}.appArmorProfile", errors)


def _check_profiles(context: Object, path: str, errors: list[FieldError]) -> None:
    seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", errors)
    apparmor(context.get("appArmorProfile"), f"{path}.appArmorProfile", errors)


def _check_account(number: int | None, path: str, errors: list[FieldError]) -> None:
    if number is not None and (messages := name_validation.user_or_group_id(number)):
        errors += [field_errors.invalid(path, number, error) for error in messages]


def seccomp(profile: Object | None, path: str, errors: list[FieldError]) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        errors.append(field_errors.required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILES:
        errors.append(field_errors.not_supported(f"{path}.type", kind, _PROFILES))
    if kind == "Localhost":
        if local is None:
            errors.append(field_errors.required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost"))
        else:
            mounts.check_descending(local, f"{path}.localhostProfile", errors)
    elif local is not None:
        errors.append(field_errors.invalid(f"{path}.localhostProfile", profile, "can only be set when seccomp type is Localhost"))


def apparmor(profile: Object | None, path: str, errors: list[FieldError]) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if kind == "Localhost":
        _check_local_apparmor(local, f"{path}.localhostProfile", errors)
    elif kind in ("RuntimeDefault", "Unconfined"):
        if local is not None:
            at = f"{path}.localhostProfile"
            errors.append(field_errors.invalid(at, local, "can only be set when AppArmor type is Localhost"))
    elif not kind:
        errors.append(field_errors.required(f"{path}.type", "type is required when appArmorProfile is set"))
    else:
        errors.append(field_errors.not_supported(f"{path}.type", kind, _PROFILES))


def _check_local_apparmor(local: str | None, path: str, errors: list[FieldError]) -> None:
    if local is None:
        errors.append(field_errors.required(path, "must be set when AppArmor type is Localhost"))
    elif local.strip() != local:
        errors.append(field_errors.invalid(path, local, "must not be padded with whitespace"))
    elif not local:
        errors.append(field_errors.required(path, "must be set when AppArmor type is Localhost"))
    elif len(local.encode()) > 4095:
        errors.append(field_errors.too_long(path, 4095))


def _check_sysctls(spec: Object, path: str, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, sysctl in enumerate(spec["securityContext"]["sysctls"]):
        at, name = f"{path}[{index}].name", sysctl.get("name") or ""
        if not name:
            errors.append(field_errors.required(at))
        elif len(name) > 253 or not _sysctl_form.fullmatch(name):
            message = f"must have at most 253 characters and match regex ^{_SYSCTL_FORM}$"
            errors.append(field_errors.invalid(at, name, message))
        elif name in seen:
            errors.append(field_errors.duplicate(at, name))
        namespace = sysctls.namespace_of(sysctls.normalize_name(name))
        if spec.get("hostNetwork") and namespace is sysctls.KernelNamespace.NET:
            errors.append(field_errors.invalid(at, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and namespace is sysctls.KernelNamespace.IPC:
            errors.append(field_errors.invalid(at, name, "may not be specified when 'hostIPC' is true"))
        seen.add(name)
