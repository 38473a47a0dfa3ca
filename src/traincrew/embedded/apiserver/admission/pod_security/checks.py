"""The checks of pod security, in the order and with the messages of the API server. Each takes a pod or a pod template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from traincrew.apimachinery import go_format
from traincrew.apimachinery import sysctls as sysctl_names
from traincrew.apimachinery.unstructured import Object

PolicyViolation = tuple[str, str] | None
"""The reason and its detail."""

_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
        "SETPCAP", "SETUID", "SYS_CHROOT",
    )
)  # fmt: skip
_SELINUX = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
_OTHER_VOLUMES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd", "flexVolume",
    "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk",
    "portworxVolume", "scaleIO", "storageos",
)  # fmt: skip
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_MUST_NOT = "must not set"


def _containers(obj: Object) -> Iterator[tuple[str, Object, Object]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in obj["spec"].get(kind) or ():
            yield container.get("name") or "", container, container.get("securityContext") or {}


def _context(obj: Object) -> Object:
    return obj["spec"].get("securityContext") or {}


def _quoted(items: Iterable[str]) -> str:
    return ", ".join(map(go_format.quote, items))


def _many(word: str, items: Iterable[Any]) -> str:
    return word if len([*items]) == 1 else f"{word}s"


def _named(names: list[str]) -> str:
    return f"{_many('container', names)} {_quoted(names)}"


def _setters(pod: bool, names: list[str]) -> str:
    return " and ".join([*(["pod"] if pod else []), *([_named(names)] if names else [])])


def _is_windows(obj: Object) -> bool:
    return (obj["spec"].get("os") or {}).get("name") == "windows"


def escalation(obj: Object) -> PolicyViolation:
    bad = [name for name, _, context in _containers(obj) if context.get("allowPrivilegeEscalation") is not False]
    if _is_windows(obj) or not bad:
        return None
    return "allowPrivilegeEscalation != false", f"{_named(bad)} must set securityContext.allowPrivilegeEscalation=false"


def apparmor(obj: Object) -> PolicyViolation:
    def is_bad(context: Object) -> bool:
        profile = context.get("appArmorProfile")
        return profile is not None and profile.get("type") not in ("RuntimeDefault", "Localhost")

    bad = [name for name, _, context in _containers(obj) if is_bad(context)]
    values = {context["appArmorProfile"].get("type") or "" for _, _, context in _containers(obj) if is_bad(context)}
    values |= {_context(obj)["appArmorProfile"].get("type") or ""} if is_bad(_context(obj)) else set()
    annotations = _forbidden_apparmor((obj.get("metadata") or {}).get("annotations") or {})
    who = [setter for setter in (_setters(is_bad(_context(obj)), bad),) if setter]
    who += [_many("annotation", annotations)] if annotations else []
    if not who:
        return None
    profiles = [*sorted(values), *annotations]
    return _many(
        "forbidden AppArmor profile", profiles
    ), f"{' and '.join(who)} {_MUST_NOT} AppArmor profile type to {_plain(profiles)}"


def _plain(items: list[str]) -> str:
    return '"' + '", "'.join(items) + '"'


def _forbidden_apparmor(annotations: dict[str, str]) -> list[str]:
    return sorted(
        f"{key}={go_format.quote(value)}"
        for key, value in annotations.items()
        if key.startswith(_APPARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )


def capabilities(obj: Object) -> PolicyViolation:
    added = {name: (context.get("capabilities") or {}).get("add") or () for name, _, context in _containers(obj)}
    bad = [name for name, names in added.items() if not _CAPABILITIES.issuperset(names)]
    if not bad:
        return None
    forbidden = sorted({one for names in added.values() for one in names} - _CAPABILITIES)
    return "non-default capabilities", f"{_named(bad)} must not include {_quoted(forbidden)} in securityContext.capabilities.add"


def dropped_capabilities(obj: Object) -> PolicyViolation:
    listed = [(name, context.get("capabilities") or {}) for name, _, context in _containers(obj)]
    keeping = [name for name, capabilities in listed if "ALL" not in (capabilities.get("drop") or ())]
    adding = [name for name, capabilities in listed if {*(capabilities.get("add") or ())} - {"NET_BIND_SERVICE"}]
    details = [f'{_named(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding:
        forbidden = sorted({one for _, capabilities in listed for one in capabilities.get("add") or ()} - {"NET_BIND_SERVICE"})
        details.append(f"{_named(adding)} must not include {_quoted(forbidden)} in securityContext.capabilities.add")
    return ("unrestricted capabilities", "; ".join(details)) if details and not _is_windows(obj) else None


def host_namespaces(obj: Object) -> PolicyViolation:
    used = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if obj["spec"].get(field)]
    return ("host namespaces", ", ".join(used)) if used else None


def host_paths(obj: Object) -> PolicyViolation:
    bad = [volume.get("name") or "" for volume in obj["spec"].get("volumes") or () if "hostPath" in volume]
    return ("hostPath volumes", f"{_many('volume', bad)} {_quoted(bad)}") if bad else None


def host_ports(obj: Object) -> PolicyViolation:
    used = {
        name: [port["hostPort"] for port in container.get("ports") or () if port.get("hostPort")]
        for name, container, _ in _containers(obj)
    }
    bad = [name for name, ports in used.items() if ports]
    if not bad:
        return None
    numbers = sorted({str(port) for ports in used.values() for port in ports})
    verb = "uses" if len(bad) == 1 else "use"
    return "hostPort", f"{_named(bad)} {verb} {_many('hostPort', numbers)} {', '.join(numbers)}"


def privileged(obj: Object) -> PolicyViolation:
    bad = [name for name, _, context in _containers(obj) if context.get("privileged")]
    return ("privileged", f"{_named(bad)} {_MUST_NOT} securityContext.privileged=true") if bad else None


def proc_mount(obj: Object) -> PolicyViolation:
    kinds = {name: context.get("procMount") for name, _, context in _containers(obj)}
    bad = [name for name, kind in kinds.items() if kind not in (None, "Default")]
    if not bad:
        return None
    forbidden = sorted({kind for kind in kinds.values() if kind not in (None, "Default")})
    return "procMount", f"{_named(bad)} {_MUST_NOT} securityContext.procMount to {_quoted(map(str, forbidden))}"


def volume_types(obj: Object) -> PolicyViolation:
    bad = [volume for volume in obj["spec"].get("volumes") or () if not any(kind in volume for kind in _VOLUMES)]
    if not bad:
        return None
    kinds = sorted({next((kind for kind in _OTHER_VOLUMES if kind in volume), "unknown") for volume in bad})
    names = [volume.get("name") or "" for volume in bad]
    verb = "uses" if len(bad) == 1 else "use"
    message = f"{_many('volume', bad)} {_quoted(names)} {verb} {_many('restricted volume type', kinds)} {_quoted(kinds)}"
    return "restricted volume types", message


def not_root(obj: Object) -> PolicyViolation:
    given = _context(obj).get("runAsNonRoot")
    explicit = [name for name, _, context in _containers(obj) if context.get("runAsNonRoot") is False]
    if given is False or explicit:
        return "runAsNonRoot != true", f"{_setters(given is False, explicit)} {_MUST_NOT} securityContext.runAsNonRoot=false"
    implicit = [name for name, _, context in _containers(obj) if context.get("runAsNonRoot") is None and not given]
    if implicit:
        return "runAsNonRoot != true", f"pod or {_named(implicit)} must set securityContext.runAsNonRoot=true"
    return None


def user(obj: Object) -> PolicyViolation:
    bad = [name for name, _, context in _containers(obj) if context.get("runAsUser") == 0]
    pod = _context(obj).get("runAsUser") == 0
    return ("runAsUser=0", f"{_setters(pod, bad)} {_MUST_NOT} runAsUser=0") if pod or bad else None


def selinux(obj: Object) -> PolicyViolation:
    def is_bad(context: Object) -> bool:
        options = context.get("seLinuxOptions") or {}
        return options.get("type", "") not in _SELINUX or bool(options.get("user") or options.get("role"))

    contexts = [("", _context(obj)), *((name, context) for name, _, context in _containers(obj))]
    options = [context["seLinuxOptions"] for _, context in contexts if is_bad(context)]
    if not options:
        return None
    kinds = sorted({option.get("type", "") for option in options if option.get("type", "") not in _SELINUX})
    message = [f"{_many('type', kinds)} {_quoted(kinds)}"] if kinds else []
    message += [f"{field} may not be set" for field in ("user", "role") if any(option.get(field) for option in options)]
    who = _setters(is_bad(_context(obj)), [name for name, context in contexts[1:] if is_bad(context)])
    return "seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(message)}"


def _is_unconfined(context: Object) -> bool:
    profile = context.get("seccompProfile")
    return profile is not None and profile.get("type") not in ("Localhost", "RuntimeDefault")


def seccomp(obj: Object) -> PolicyViolation:
    pod = _is_unconfined(_context(obj))
    bad = [name for name, _, context in _containers(obj) if _is_unconfined(context)]
    if not pod and not bad:
        return None
    contexts = [_context(obj), *(context for _, _, context in _containers(obj))]
    kinds = sorted({context["seccompProfile"].get("type") or "" for context in contexts if _is_unconfined(context)})
    return "seccompProfile", f"{_setters(pod, bad)} {_MUST_NOT} securityContext.seccompProfile.type to {_quoted(kinds)}"


def seccomp_required(obj: Object) -> PolicyViolation:
    if _is_windows(obj):
        return None
    if finding := seccomp(obj):
        return finding
    if _context(obj).get("seccompProfile"):
        return None
    bad = [name for name, _, context in _containers(obj) if not context.get("seccompProfile")]
    words = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return ("seccompProfile", f"pod or {_named(bad)} {words}") if bad else None


def sysctls(obj: Object) -> PolicyViolation:
    names = [sysctl.get("name") or "" for sysctl in _context(obj).get("sysctls") or ()]
    bad = [name for name in names if name not in sysctl_names.SAFE]
    return ("forbidden sysctls", ", ".join(bad)) if bad else None


def host_process(obj: Object) -> PolicyViolation:
    bad = [name for name, _, context in _containers(obj) if (context.get("windowsOptions") or {}).get("hostProcess")]
    pod = bool((_context(obj).get("windowsOptions") or {}).get("hostProcess"))
    words = f"{_MUST_NOT} securityContext.windowsOptions.hostProcess=true"
    return ("hostProcess", f"{_setters(pod, bad)} {words}") if pod or bad else None


BASELINE = (
    apparmor, capabilities, host_namespaces, host_paths, host_ports, privileged, proc_mount, selinux, seccomp, sysctls,
    host_process,
)  # fmt: skip
RESTRICTED = (
    apparmor, host_namespaces, host_ports, privileged, proc_mount, selinux, sysctls, host_process,
    escalation, dropped_capabilities, volume_types, not_root, user, seccomp_required,
)  # fmt: skip
