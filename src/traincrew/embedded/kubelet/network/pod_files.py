"""A pod's /etc/hosts and /etc/resolv.conf, as the kubelet writes them. PURE"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from traincrew.embedded.kubelet.network.dns_zone import CLUSTER_DOMAIN

Object = Mapping[str, Any]
_MAX_SERVERS, _MAX_SEARCH, _MAX_SEARCH_BYTES = 3, 32, 2048
_MAX_KERNEL_HOSTNAME = 64
_LOCAL = (
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
)


class HostnameTooLong(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class ResolvConf:
    """The content of a resolv.conf."""

    servers: Sequence[str] = ()
    search: Sequence[str] = ()
    options: Sequence[str] = ()

    @classmethod
    def parse(cls, text: str) -> ResolvConf:
        """As the C library: the last `search` or `domain` counts, options add up."""
        servers: list[str] = []
        search: list[str] = []
        options: list[str] = []
        for line in text.splitlines():
            words = line.split()
            if not words or words[0][0] in "#;":
                continue
            if words[0] == "nameserver" and len(words) > 1:
                servers.append(words[1])
            elif words[0] in ("search", "domain"):
                search = [each.rstrip(".") or "." for each in words[1:]]
            elif words[0] == "options":
                options += words[1:]
        return cls(servers, search, options)

    def text(self) -> str:
        lines = []
        if search := _limited(self.search):
            lines.append("search " + " ".join(search))
        lines += [f"nameserver {each}" for each in list(dict.fromkeys(self.servers))[:_MAX_SERVERS]]
        if self.options:
            lines.append("options " + " ".join(self.options))
        return "".join(f"{line}\n" for line in lines)


def resolv_conf(pod: Object, gateway: str, domain: str = CLUSTER_DOMAIN, host: ResolvConf | None = None) -> str:
    """host: the resolv.conf of the host. Without a gateway, pods use the servers of the host."""
    spec = pod.get("spec") or {}
    policy, host = spec.get("dnsPolicy") or "ClusterFirst", host or ResolvConf()
    if policy == "ClusterFirst" and spec.get("hostNetwork"):
        policy = "Default"
    if policy == "None":
        conf = ResolvConf()
    elif policy == "Default":
        conf = host
    else:
        namespace = (pod.get("metadata") or {}).get("namespace") or "default"
        own = (f"{namespace}.svc.{domain}", f"svc.{domain}", domain)
        conf = ResolvConf((gateway,) if gateway else host.servers, (*own, *host.search), ("ndots:5",))
    return _configured(conf, spec.get("dnsConfig") or {}).text()


def _configured(conf: ResolvConf, config: Object) -> ResolvConf:
    """Servers and domains of dnsConfig come after the policy's; an option replaces one of the same name."""
    options = {option.partition(":")[0]: option for option in conf.options}
    for each in config.get("options") or ():
        value = each.get("value")
        options[each["name"]] = f"{each['name']}:{value}" if value not in (None, "") else each["name"]
    servers = (*conf.servers, *(config.get("nameservers") or ()))
    search = (*conf.search, *(each.rstrip(".") or "." for each in config.get("searches") or ()))
    return ResolvConf(tuple(dict.fromkeys(servers)), tuple(dict.fromkeys(search)), tuple(options.values()))


def _limited(search: Iterable[str]) -> list[str]:
    kept = list(dict.fromkeys(search))[:_MAX_SEARCH]
    while len(" ".join(kept)) > _MAX_SEARCH_BYTES:
        kept.pop()
    return kept


def hostname(pod: Object) -> str:
    """At most 63 characters, as in the kubelet."""
    spec = pod.get("spec") or {}
    name = str(spec.get("hostname") or (pod.get("metadata") or {}).get("name") or "")
    return name[:63].rstrip("-.") if len(name) > 63 else name


def subdomain(pod: Object, domain: str = CLUSTER_DOMAIN) -> str:
    """The domain of the pod's FQDN; empty: it has none."""
    spec, meta = pod.get("spec") or {}, pod.get("metadata") or {}
    return f"{spec['subdomain']}.{meta.get('namespace') or 'default'}.svc.{domain}" if spec.get("subdomain") else ""


def kernel_hostname(pod: Object, domain: str = CLUSTER_DOMAIN) -> str:
    """What `hostname` prints: with setHostnameAsFQDN the FQDN, if the pod has one. Raises HostnameTooLong."""
    name, rest = hostname(pod), subdomain(pod, domain)
    if not rest or not (pod.get("spec") or {}).get("setHostnameAsFQDN"):
        return name
    fqdn = f"{name}.{rest}"
    if len(fqdn) > _MAX_KERNEL_HOSTNAME:
        why = f"({_MAX_KERNEL_HOSTNAME} characters is the max, {len(fqdn)} characters requested)"
        raise HostnameTooLong(f"failed to construct FQDN from pod hostname and cluster domain, FQDN {fqdn} is too long {why}")
    return fqdn


def hosts(pod: Object, ip: str, domain: str = CLUSTER_DOMAIN, host: str | None = None) -> str:
    """host: the host's /etc/hosts, for a pod with hostNetwork."""
    spec = pod.get("spec") or {}
    lines = ["# Kubernetes-managed hosts file."]
    if spec.get("hostNetwork"):
        lines = ["# Kubernetes-managed hosts file (host network).", *(host or "\n".join(_LOCAL)).rstrip("\n").split("\n")]
    else:
        name, rest = hostname(pod), subdomain(pod, domain)
        lines += [*_LOCAL, "\t".join((ip, f"{name}.{rest}", name) if rest else (ip, name))]
    if aliases := spec.get("hostAliases"):
        lines += ["", "# Entries added by HostAliases."]
        lines += ["\t".join((each["ip"], *(each.get("hostnames") or ()))) for each in aliases]
    return "".join(f"{line}\n" for line in lines)
