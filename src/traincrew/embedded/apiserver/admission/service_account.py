"""ServiceAccount: every pod runs as a service account of its namespace and mounts a token of it."""

from __future__ import annotations

import random

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.admission.attributes import CREATE, AdmissionAttributes, Listers
from traincrew.embedded.apiserver.registry.builtin.core.pods.volumes import token_source

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105
_VOLUME = "kube-api-access-"
_MIRROR = "kubernetes.io/config.mirror"
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"


def admit(attributes: AdmissionAttributes, listers: Listers) -> None:
    if not attributes.is_for("pods", CREATE) or _MIRROR in (attributes.object["metadata"].get("annotations") or {}):
        return
    spec = attributes.object["spec"]
    name = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = listers.get("serviceaccounts", attributes.namespace, name)
    if account is None:
        at = f"{attributes.namespace}/{name}"
        raise attributes.forbidden(f'error looking up service account {at}: serviceaccount "{name}" not found')
    mounted = spec.get("automountServiceAccountToken")
    if mounted is None:
        mounted = account.get("automountServiceAccountToken")
    if mounted is not False:
        _mount_token(spec)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [{"name": each.get("name", "")} for each in account["imagePullSecrets"]]


def _mount_token(spec: Object) -> None:
    volumes = spec.get("volumes") or []
    volume = next((each["name"] for each in volumes if each["name"].startswith(_VOLUME)), "")
    name = volume or _VOLUME + "".join(random.choices(_SUFFIX, k=5))
    mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
    needed = False
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        mounts = container.get("volumeMounts") or []
        if all(each.get("mountPath") != TOKEN_PATH for each in mounts):
            container["volumeMounts"] = [*mounts, dict(mount)]
            needed = True
    if needed and not volume:
        spec["volumes"] = [*volumes, {"name": name, "projected": token_source()}]
