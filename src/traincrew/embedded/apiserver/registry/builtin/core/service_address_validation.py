"""Validation of the cluster IPs and IP families of a Service."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import ip_addresses

NONE = "None"
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")


def is_headless(spec: Object) -> bool:
    return spec.get("clusterIPs") == [NONE]


def addresses_of(spec: Object) -> tuple[str, list[str]]:
    return spec.get("clusterIP") or "", spec.get("clusterIPs") or []


def check_addresses(spec: Object, errors: list[FieldError]) -> None:
    first, listed = addresses_of(spec)
    shown, at = go_format.string_slice(listed), "spec.clusterIPs"
    if first and not listed:
        errors.append(field_errors.required(at))
    elif first and listed[0] != first:
        errors.append(field_errors.invalid_formatted(at, shown, "first value must match `clusterIP`"))
    elif not first and listed:
        errors.append(field_errors.invalid_formatted(at, shown, "must be empty when `clusterIP` is not specified"))
    _check_families(spec, errors)
    sound = True
    for index, address in enumerate(listed):
        if index == 0 and address == NONE:
            if len(listed) > 1:
                sound = False
                errors.append(field_errors.invalid_formatted(at, shown, "'None' must be the first and only value"))
            continue
        sound = ip_addresses.check(address, f"{at}[{index}]", errors) and sound
    if len(listed) > 2:
        errors.append(field_errors.invalid_formatted(at, shown, "may only hold up to 2 values"))
    if sound and listed:
        _check_families_agree(spec, listed, errors)


def _check_families(spec: Object, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in ("IPv4", "IPv6"):
            errors.append(field_errors.not_supported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6")))
        if family in seen:
            errors.append(field_errors.duplicate(f"spec.ipFamilies[{index}]", family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy not in (None, *_POLICIES):
        errors.append(field_errors.not_supported("spec.ipFamilyPolicy", policy, _POLICIES))


def _check_families_agree(spec: Object, listed: list[str], errors: list[FieldError]) -> None:
    if len(listed) > 1 and not ip_addresses.is_dual_stack(listed):
        message = "may specify no more than one IP for each IP family"
        errors.append(field_errors.invalid_formatted("spec.clusterIPs", go_format.string_slice(listed), message))
    if is_headless(spec):
        return
    for index, (text, family) in enumerate(zip(listed, spec.get("ipFamilies") or (), strict=False)):
        address = ip_addresses.parse(text)
        if address is not None and f"IPv{address.version}" != family:
            message = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(field_errors.invalid(f"spec.clusterIPs[{index}]", text, message))


def compare_addresses(spec: Object, before: Object, errors: list[FieldError]) -> None:
    after, former = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    shown = go_format.string_slice(after or None)
    if former and not after:
        errors.append(field_errors.invalid_formatted("spec.clusterIPs[0]", shown, "primary clusterIP can not be unset"))
        return
    same = len(former) == len(after)
    for index, (mine, other) in enumerate(zip(after, former, strict=False)):
        if mine != other and (same or index == 0):
            errors.append(field_errors.invalid_formatted(f"spec.clusterIPs[{index}]", shown, "may not change once set"))
    if len(former) > len(after) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        message = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        errors.append(field_errors.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), message))


def compare_families(spec: Object, before: Object, errors: list[FieldError]) -> None:
    after, former = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    for mine, other in zip(after, former, strict=False):
        if mine != other:
            shown = go_format.string_slice(after, "core.IPFamily")
            errors.append(field_errors.invalid_formatted("spec.ipFamilies[0]", shown, "may not change once set"))
