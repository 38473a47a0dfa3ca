"""Secrets."""

from __future__ import annotations

import base64

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.object_meta_validation import IMMUTABLE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core.config_maps import MAX_BYTES, check_immutable, check_keys, decoded_size
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext
from traincrew.embedded.apiserver.schema import custom_decoders, json_syntax, json_tree

_ACCOUNT = "kubernetes.io/service-account.name"
_DOCKER = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


def _default(obj: Object) -> None:
    if not obj.get("type"):
        obj["type"] = "Opaque"
    if texts := obj.pop("stringData", None):
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    for key, value in (obj.get("data") or {}).items():
        if value is None:
            obj["data"][key] = ""


def _prepare_create(obj: Object, context: WriteContext) -> None:
    """Fills in the token of a service account. In Kubernetes, a controller does so a moment later."""
    obj |= context.token_secret(obj) or {}


def _prepare_update(new: Object, old: Object) -> None:
    if not new.get("type"):
        new["type"] = old.get("type")


def _validate(obj: Object, errors: Errors) -> None:
    data, kind = obj.get("data") or {}, obj.get("type") or ""
    check_keys(data, "data", errors)
    if sum(map(decoded_size, data.values())) > MAX_BYTES:
        errors.append(field_errors.too_long("data", MAX_BYTES))
    if kind == "kubernetes.io/service-account-token":
        if not (obj["metadata"].get("annotations") or {}).get(_ACCOUNT):
            errors.append(field_errors.required(f"metadata.annotations[{_ACCOUNT}]"))
    elif kind in _DOCKER:
        _check_docker(data, _DOCKER[kind], errors)
    elif kind == "kubernetes.io/basic-auth":
        if not {"username", "password"} & data.keys():
            errors += [field_errors.required("data[username]"), field_errors.required("data[password]")]
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            errors.append(field_errors.required("data[ssh-privatekey]"))
    elif kind == "kubernetes.io/tls":
        errors += [field_errors.required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]


def _check_docker(data: dict[str, str], key: str, errors: Errors) -> None:
    if key not in data:
        errors.append(field_errors.required(f"data[{key}]"))
        return
    if error := _json_error(base64.b64decode(data[key])):
        errors.append(field_errors.invalid(f"data[{key}]", "<secret contents redacted>", error))


def _json_error(text: bytes) -> str:
    """The error if a text is not a JSON object."""
    try:
        json_syntax.check(text)
    except json_syntax.NotJson as error:
        return str(error)
    tree = json_tree.parse(text.decode("utf-8", "replace"))
    if tree is None or isinstance(tree, json_tree.Members):
        return ""
    return f"json: cannot unmarshal {custom_decoders.described(tree)} into Go value of type map[string]interface {{}}"


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    if new.get("type") != old.get("type"):
        errors.append(field_errors.invalid("type", new.get("type") or "", IMMUTABLE))
    check_immutable(new, old, errors)


def _warnings(obj: Object) -> list[str]:
    certificate = (obj.get("data") or {}).get("tls.crt", "")
    if obj.get("type") != "kubernetes.io/tls" or b"-----BEGIN" in base64.b64decode(certificate):
        return []
    return ["tls: failed to find any PEM data in certificate input"]


SECRET = Strategy(
    kind="Secret",
    defaults=_default,
    create_preparation=_prepare_create,
    update_preparation=_prepare_update,
    validation=_validate,
    update_validation=_validate_update,
    update_validation_steps=("meta", "compare", "whole"),
    warning_rules=_warnings,
    warns_on_update=True,
)
