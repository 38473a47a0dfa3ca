"""Validation of names. As in k8s.io/apimachinery, each function returns the error messages; none if the name is valid."""

from __future__ import annotations

import re

from traincrew.apimachinery.string_cache import cached

Messages = tuple[str, ...]

_QUALIFIED_FORM = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_FORM = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORM = rf"{_LABEL_FORM}(\.{_LABEL_FORM})*"
_DNS_1035_FORM = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY_FORM = "[-._a-zA-Z0-9]+"
_HEADER_FORM = "[-A-Za-z0-9]+"
_PATH_FORM = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PERCENT_FORM = "[0-9]+%"

_qualified_form = re.compile(_QUALIFIED_FORM)
_label_form = re.compile(_LABEL_FORM)
_subdomain_form = re.compile(_SUBDOMAIN_FORM)
_dns_1035_form = re.compile(_DNS_1035_FORM)
_key_form = re.compile(_KEY_FORM)
_header_form = re.compile(_HEADER_FORM)
_path_form = re.compile(_PATH_FORM)
_percent_form = re.compile(_PERCENT_FORM)
_port_charset = re.compile("[-a-z0-9]+")

_QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED_FORM}')"
)
_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    f"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_FORM}')"
)
_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
    f"an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_FORM}')"
)
_DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    f"with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_DNS_1035_FORM}')"
)
_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    f"an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '({_QUALIFIED_FORM})?')"
)
_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    f"(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_KEY_FORM}')"
)
_HEADER = (
    "a valid HTTP header must consist of alphanumeric characters or '-' "
    f"(e.g. 'X-Header-Name', regex used for validation is '{_HEADER_FORM}')"
)
_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    f"(e.g. '1%',  or '93%', regex used for validation is '{_PERCENT_FORM}')"
)
_ENV = "a valid environment variable name must consist only of printable ASCII characters other than '='"

_CACHE_SIZE = 4096


def too_long(most: int) -> str:
    return f"must be no more than {most} characters"


def out_of_range(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def _length(word: str) -> int:
    return len(word) if word.isascii() else len(word.encode())


@cached(_CACHE_SIZE)
def dns_label(word: str) -> Messages:
    messages = [too_long(63)] if _length(word) > 63 else []
    if not _label_form.fullmatch(word):
        messages.append("must not contain dots" if _subdomain_form.fullmatch(word) else _LABEL)
    return tuple(messages)


@cached(_CACHE_SIZE)
def dns_subdomain(word: str) -> Messages:
    messages = [too_long(253)] if _length(word) > 253 else []
    if not _subdomain_form.fullmatch(word):
        messages.append(_SUBDOMAIN)
    return tuple(messages)


@cached(_CACHE_SIZE)
def dns_1035_label(word: str) -> Messages:
    messages = [too_long(63)] if _length(word) > 63 else []
    if not _dns_1035_form.fullmatch(word):
        messages.append(_DNS_1035)
    return tuple(messages)


def path_segment(word: str) -> Messages:
    """The names of RBAC objects: anything that fits into a URL path segment."""
    if word in (".", ".."):
        return (f"may not be '{word}'",)
    return tuple(f"may not contain '{each}'" for each in ("/", "%") if each in word)


@cached(_CACHE_SIZE)
def qualified_name(word: str) -> Messages:
    """`name` or `prefix/name`: labels, annotations, finalizers, resources."""
    prefix, slash, name = word.rpartition("/")
    if "/" in prefix:
        words = f"a qualified name {_QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (words,)
    messages: list[str] = []
    if slash:
        messages += [f"prefix part {each}" for each in dns_subdomain(prefix)] if prefix else ["prefix part must be non-empty"]
    if not name:
        messages.append("name part must be non-empty")
    elif _length(name) > 63:
        messages.append(f"name part {too_long(63)}")
    if not _qualified_form.fullmatch(name):
        messages.append(f"name part {_QUALIFIED}")
    return tuple(messages)


@cached(_CACHE_SIZE)
def label_value(word: str) -> Messages:
    messages = [too_long(63)] if _length(word) > 63 else []
    if word and not _qualified_form.fullmatch(word):
        messages.append(_LABEL_VALUE)
    return tuple(messages)


@cached(_CACHE_SIZE)
def env_var_name(word: str) -> Messages:
    """The relaxed rule since Kubernetes 1.32."""
    return () if word.isascii() and word.isprintable() and "=" not in word else (_ENV,)


@cached(_CACHE_SIZE)
def config_key(word: str) -> Messages:
    messages = [too_long(253)] if _length(word) > 253 else []
    if not _key_form.fullmatch(word):
        messages.append(_KEY)
    if word in (".", ".."):
        messages.append(f"must not be '{word}'")
    elif word.startswith(".."):
        messages.append("must not start with '..'")
    return tuple(messages)


@cached(_CACHE_SIZE)
def port_name(word: str) -> Messages:
    messages = [too_long(15)] if len(word) > 15 else []
    if not _port_charset.fullmatch(word):
        messages.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= each <= "z" for each in word):
        messages.append("must contain at least one letter (a-z)")
    if "--" in word:
        messages.append("must not contain consecutive hyphens")
    if word.startswith("-") or word.endswith("-"):
        messages.append("must not begin or end with a hyphen")
    return tuple(messages)


def port_number(port: int) -> Messages:
    return () if 1 <= port <= 65535 else (out_of_range(1, 65535),)


def user_or_group_id(number: int) -> Messages:
    """The range of user and group IDs."""
    return () if 0 <= number <= 2147483647 else (out_of_range(0, 2147483647),)


def http_header_name(word: str) -> Messages:
    return () if _header_form.fullmatch(word) else (_HEADER,)


def percent(word: str) -> Messages:
    return () if _percent_form.fullmatch(word) else (_PERCENT,)


def url_path(word: str) -> Messages:
    return () if _path_form.fullmatch(word) else (f"Invalid path (regex used for validation is '{_PATH_FORM}')",)


def mask_trailing_dash(word: str) -> str:
    """generateName may end in a dash, the generated name does not."""
    return word[:-2] + "a" if len(word) > 1 and word.endswith("-") else word
