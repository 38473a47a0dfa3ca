"""Network policies."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from traincrew.apimachinery import field_errors, label_selectors, name_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core.pods.containers import PROTOCOLS
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy

_TYPES = ("Ingress", "Egress")
_PEERS = {"ingress": "from", "egress": "to"}
_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _default(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    for direction in _PEERS:
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = list(_TYPES if spec.get("egress") else _TYPES[:1])


def _validate(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    label_selectors.validate(spec.get("podSelector"), "spec.podSelector", errors)
    for direction, peers in _PEERS.items():
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            for which, port in enumerate(rule.get("ports") or ()):
                _check_port(port, f"{path}.ports[{which}]", errors)
            for which, peer in enumerate(rule.get(peers) or ()):
                _check_peer(peer, f"{path}.{peers}[{which}]", errors)
    _check_types(spec.get("policyTypes") or (), errors)


def _check_types(types: Sequence[str], errors: Errors) -> None:
    if len(types) > len(_TYPES):
        listed = ", ".join(f'"{each}"' for each in types)
        text = f"[]networking.PolicyType{{{listed}}}"
        errors.append(field_errors.invalid_formatted("spec.policyTypes", text, "may not specify more than two policyTypes"))
        return
    for index, each in enumerate(types):
        if each not in _TYPES:
            errors.append(field_errors.not_supported(f"spec.policyTypes[{index}]", each, _TYPES))


def _check_port(port: Object, path: str, errors: Errors) -> None:
    if port.get("protocol") not in (None, *PROTOCOLS):
        errors.append(field_errors.not_supported(f"{path}.protocol", port["protocol"], ("TCP", "UDP", "SCTP")))
    number, end = port.get("port"), port.get("endPort")
    if isinstance(number, int):
        errors += [field_errors.invalid(f"{path}.port", number, error) for error in name_validation.port_number(number)]
        if end is not None:
            _check_end_port(number, end, f"{path}.endPort", errors)
        return
    if end is not None:
        when = "is not specified" if number is None else "is non-numeric"
        errors.append(field_errors.invalid(f"{path}.endPort", end, f"may not be specified when `port` {when}"))
    if number is not None:
        errors += [field_errors.invalid(f"{path}.port", number, error) for error in name_validation.port_name(number)]


def _check_end_port(number: int, end: int, path: str, errors: Errors) -> None:
    if end < number:
        errors.append(field_errors.invalid(path, number, "must be greater than or equal to `port`"))
    errors += [field_errors.invalid(path, end, error) for error in name_validation.port_number(end)]


def _check_peer(peer: Object, path: str, errors: Errors) -> None:
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    for name in given:
        if name == "ipBlock":
            _check_block(peer[name], f"{path}.ipBlock", errors)
        else:
            label_selectors.validate(peer[name], f"{path}.{name}", errors)
    if not given:
        errors.append(field_errors.required(path, "must specify a peer"))
    elif len(given) > 1 and "ipBlock" in given:
        errors.append(field_errors.forbidden(path, "may not specify both ipBlock and another peer"))


def _check_block(block: Object, path: str, errors: Errors) -> None:
    if not block.get("cidr"):
        errors.append(field_errors.required(f"{path}.cidr"))
        return
    outer = _network(block["cidr"], f"{path}.cidr", errors)
    if outer is None:
        return
    for index, text in enumerate(block.get("except") or ()):
        at = f"{path}.except[{index}]"
        inner = _network(text, at, errors)
        if inner is not None and not _is_strictly_within(inner, outer):
            errors.append(field_errors.invalid(at, text, "must be a strict subset of `cidr`"))


def _is_strictly_within(inner: _Network, outer: _Network) -> bool:
    return inner.version == outer.version and inner.network_address in outer and inner.prefixlen > outer.prefixlen


def _network(text: str, path: str, errors: Errors) -> _Network | None:
    try:
        if "/" not in text or not text.rpartition("/")[2].isdecimal():
            raise ValueError
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        errors.append(field_errors.invalid(path, text, _CIDR))
        return None


NETWORK_POLICY = Strategy(
    kind="NetworkPolicy",
    has_generation=True,
    defaults=_default,
    validation=_validate,
    update_validation_steps=("whole", "meta", "spec"),
)
