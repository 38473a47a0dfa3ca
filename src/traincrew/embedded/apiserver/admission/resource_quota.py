"""ResourceQuota: a new object must fit into the remaining quota of its namespace."""

from __future__ import annotations

from traincrew.apimachinery import quota_usage
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.admission.attributes import CREATE, AdmissionAttributes, Listers


def validate(attributes: AdmissionAttributes, listers: Listers) -> list[str]:
    info = attributes.info
    if attributes.operation != CREATE or not info.namespaced or not (quotas := _quotas(attributes, listers)):
        return []
    # Usage is counted from the objects, not read from the quota's status: a controller writes the status a moment later, and
    # meanwhile two objects could use the same remainder.
    stored = listers.list_accepted(info.store_name, attributes.namespace)
    requests = [quota_usage.QuotaRequest(each, info.plural, info.group) for each in stored]
    counted = [each | {"status": {"hard": _hard(each), "used": quota_usage.total(requests, each)}} for each in quotas]
    quota_usage.check_request(quota_usage.QuotaRequest(attributes.object, info.plural, info.group), counted)
    return []


def _quotas(attributes: AdmissionAttributes, listers: Listers) -> list[Object]:
    return listers.list("resourcequotas", attributes.namespace)


def _hard(quota: Object) -> Object:
    """The status counts once the quota's controller has written it."""
    return (quota.get("status") or {}).get("hard") or quota.get("spec", {}).get("hard") or {}
